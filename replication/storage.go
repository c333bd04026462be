package replication

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"go.uber.org/zap"
)

// Storage is where a node keeps its generation and, while it is stopped, its
// state. Load returns an error that is [fs.ErrNotExist] for a key that is not
// there. Caddy's storage is one.
type Storage interface {
	Store(ctx context.Context, key string, value []byte) error
	Load(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
}

// storageTimeout bounds a start's accesses to the storage taken together, and any
// other one: a storage that hangs delays a start but does not prevent it.
const storageTimeout = 5 * time.Second

// within runs an access to the storage and waits for it until ctx is over. Some
// storages do not look at their context; one on a network file system that
// hangs must keep neither a start nor a stop from happening.
func within[T any](ctx context.Context, access func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := access(ctx)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// boundedStorage is a storage whose every access ends with its context.
type boundedStorage struct{ Storage }

func (b boundedStorage) Load(ctx context.Context, key string) ([]byte, error) {
	return within(ctx, func(ctx context.Context) ([]byte, error) { return b.Storage.Load(ctx, key) })
}

func (b boundedStorage) Store(ctx context.Context, key string, value []byte) error {
	_, err := within(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.Storage.Store(ctx, key, value)
	})
	return err
}

func (b boundedStorage) Delete(ctx context.Context, key string) error {
	_, err := within(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.Storage.Delete(ctx, key)
	})
	return err
}

// stateStore keeps the state file in a storage.
type stateStore struct {
	storage Storage
	key     string
}

// load returns the state that was written under the last generation; nil if
// there is none. A file that is damaged is set aside.
func (st *stateStore) load(ctx context.Context, last uint64, log *zap.Logger) *state {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	file, err := st.storage.Load(ctx, st.key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		log.Error("the locks held before are not taken up: reading the state failed", zap.Error(err))
		return nil
	}
	s, err := decodeState(file)
	if err != nil {
		st.setAside(ctx, file, err, log)
		return nil
	}
	if s.generation != last {
		log.Warn("an old state file is not taken up", zap.String("file", st.key),
			zap.Uint64("its_generation", s.generation), zap.Uint64("last_generation", last))
		return nil
	}
	return s
}

func (st *stateStore) setAside(ctx context.Context, file []byte, why error, log *zap.Logger) {
	aside := st.key + ".damaged"
	err := st.storage.Store(ctx, aside, file)
	if err == nil {
		err = st.storage.Delete(ctx, st.key)
	}
	log.Warn("a damaged state file is set aside; the locks held before are not taken up",
		zap.String("file", st.key), zap.String("set_aside_as", aside), zap.Error(why),
		zap.NamedError("setting_aside", err))
}

func (st *stateStore) store(ctx context.Context, file []byte) error {
	if err := st.storage.Store(ctx, st.key, file); err != nil {
		return fmt.Errorf("storing the state: %w", err)
	}
	return nil
}

func (st *stateStore) delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	if err := st.storage.Delete(ctx, st.key); err != nil {
		return fmt.Errorf("deleting the state: %w", err)
	}
	return nil
}
