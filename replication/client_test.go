package replication_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddylock/caddylock/client"
)

func connect(t *testing.T, addr string) *client.Client {
	t.Helper()
	c, err := client.New([]string{addr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestTheClientAndANodeAgree(t *testing.T) {
	t.Parallel()
	c := connect(t, serve(t, "127.0.0.1:0", new(memory)).addr())
	l, err := c.Acquire(t.Context(), "a key")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := c.Query(t.Context(), "a key"); err != nil || s.Token != l.Token() {
		t.Fatalf("queried %+v, %v; want token %d", s, err, l.Token())
	}
	if _, err := c.TryAcquire(t.Context(), "a key"); !errors.Is(err, client.ErrTimeout) {
		t.Fatalf("a second acquire: %v", err)
	}
	if err := l.Keep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(t.Context(), "a key", l.Token()); !errors.Is(err, client.ErrNotHeld) || errors.Is(err, client.ErrTaken) {
		t.Fatalf("a second release: %v", err)
	}
	if s, err := c.Query(t.Context(), "a key"); err != nil || s.Token != 0 {
		t.Fatalf("queried %+v, %v; want a free key", s, err)
	}
}

func TestOneHolderAtATimeWhileConnectionsDrop(t *testing.T) {
	t.Parallel()
	s := serve(t, "127.0.0.1:0", new(memory))
	c := connect(t, s.addr())
	var inside, last atomic.Int64
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			for round := range 20 {
				if i == 0 && round%5 == 4 {
					s.drop()
				}
				err := c.Do(t.Context(), "contended", func(ctx context.Context) error {
					defer inside.Add(-1)
					token := int64(client.TokenFrom(ctx))
					if n, before := inside.Add(1), last.Swap(token); n != 1 || before >= token {
						return fmt.Errorf("%d inside, token %d after %d", n, token, before)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
}

func TestALockOutlivesAPlannedRestart(t *testing.T) {
	t.Parallel()
	storage := new(memory)
	s := serve(t, "127.0.0.1:0", storage)
	c := connect(t, s.addr())
	l, err := c.Acquire(t.Context(), "kept")
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	serve(t, s.addr(), storage)
	if err := l.Keep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}
