package client_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

var errWork = errors.New("the work failed")

func TestDoHoldsTheLockWhileItRuns(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		for _, want := range []error{nil, errWork} {
			err := c.Do(t.Context(), "k", func(ctx context.Context) error {
				time.Sleep(time.Minute)
				if token, _ := w.holder("k"); token == 0 || ctx.Err() != nil {
					t.Errorf("token %d, context %v", token, ctx.Err())
				}
				return want
			})
			if !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("got %v, want %v", err, want)
			}
			w.checkIdle("after Do")
		}
	})
}

func TestDoDoesNotRunWithoutTheLock(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.hold("k", time.Hour)
		err := c.Do(t.Context(), "k", func(context.Context) error {
			t.Error("it ran")
			return nil
		}, client.WithWait(time.Second))
		matches(t, err, client.ErrTimeout)
		w.let("k")
	})
}

func TestDoCancelsTheWorkOnLoss(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		err := c.Do(t.Context(), "k", func(ctx context.Context) error {
			w.vanish(nodeA)
			<-ctx.Done()
			matches(t, context.Cause(ctx), client.ErrLost, client.ErrLeaseOver)
			w.start(nodeA)
			time.Sleep(time.Minute)
			return errWork
		})
		matches(t, err, client.ErrLost, errWork)
	})
}

func TestDoReportsALossThatTheWorkDidNotNotice(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		err := c.Do(t.Context(), "k", func(context.Context) error {
			w.let("k")
			time.Sleep(time.Minute)
			return nil
		})
		matches(t, err, client.ErrLost)
	})
}

// TestDoReleasesAfterTheWork: and not when its context ends.
func TestDoReleasesAfterTheWork(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		ctx, cancel := context.WithCancel(t.Context())
		err := c.Do(ctx, "k", func(ctx context.Context) error {
			cancel()
			<-ctx.Done()
			time.Sleep(time.Minute)
			if token, _ := w.holder("k"); token == 0 {
				t.Error("the lock was given back before the work ended")
			}
			return ctx.Err()
		})
		matches(t, err, context.Canceled)
		w.checkIdle("after Do")
	})
}

func TestDoReleasesWhateverTheWorkDoes(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(context.Context) error{
		"panic":  func(context.Context) error { panic("work") },
		"goexit": func(context.Context) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				ended := make(chan any, 1)
				go func() {
					defer func() { ended <- recover() }()
					_ = c.Do(t.Context(), "k", work)
				}()
				if r := <-ended; (name == "panic") != (r == "work") {
					t.Errorf("recovered %v", r)
				}
				w.checkIdle("after Do")
				time.Sleep(time.Minute)
				if n := len(w.requests(wire.OpKeep)); n != 0 {
					t.Errorf("%d renewals after the end", n)
				}
			})
		})
	}
}

func TestDoJoinsAFailedRelease(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		err := c.Do(t.Context(), "k", func(context.Context) error {
			w.stop(nodeA)
			return errWork
		})
		matches(t, err, errWork)
		time.Sleep(time.Minute)
	})
}

func TestDetachHandsTheLeaseOn(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		one, two := w.client([]string{nodeA}), w.client([]string{nodeA})
		w.history.strangers = true
		lock := w.acquire(one, "k")
		lock.Detach()
		<-lock.Done()
		matches(t, lock.Err(), client.ErrReleased)
		if err := one.Close(t.Context()); err != nil {
			t.Errorf("closing: %v", err)
		}
		if err := two.Keep(t.Context(), "k", lock.Token(), time.Minute); err != nil {
			t.Errorf("keeping by token: %v", err)
		}
		time.Sleep(50 * time.Second)
		if token, _ := w.holder("k"); token != lock.Token() {
			t.Errorf("%d holds the key, want %d", token, lock.Token())
		}
		if err := two.Release(t.Context(), "k", lock.Token()); err != nil {
			t.Errorf("releasing by token: %v", err)
		}
	})
}
