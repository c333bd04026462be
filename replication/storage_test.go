package replication

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// deafStorage hangs until it is released, whatever its context says.
type deafStorage struct{ released chan struct{} }

func (s deafStorage) Store(context.Context, string, []byte) error { return s.wait() }
func (s deafStorage) Delete(context.Context, string) error        { return s.wait() }

func (s deafStorage) Load(context.Context, string) ([]byte, error) { return nil, s.wait() }

func (s deafStorage) wait() error {
	<-s.released
	return nil
}

func TestAStorageThatIgnoresItsContextDelaysAStartAndAStopByTheirBoundsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		storage := deafStorage{make(chan struct{})}
		defer close(storage.released)
		begun := time.Now()
		if err := h.node.Start(t.Context(), Env{Options: DefaultOptions(), Storage: storage, Log: h.log}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > storageTimeout || !h.node.Serving() {
			t.Errorf("after %s the node serves: %t", took, h.node.Serving())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun = time.Now()
		err := h.node.Shutdown(ctx)
		if took := time.Since(begun); took > 3*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopping took %s and ended with %v", took, err)
		}
	})
}
