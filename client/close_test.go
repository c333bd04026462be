package client_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

func TestCloseReleasesWhatIsHeldAndWithdrawsWhatWaits(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		var locks []*client.Lock
		for i := range 50 {
			locks = append(locks, w.acquire(c, fmt.Sprint(i)))
		}
		w.hold("k", time.Hour)
		var waiting []<-chan result
		for range 50 {
			waiting = append(waiting, w.acquireLater(t.Context(), c, "k"))
		}
		start := time.Now()
		if err := c.Close(t.Context()); err != nil || time.Since(start) > time.Second {
			t.Errorf("closing: %v after %s", err, time.Since(start))
		}
		for _, got := range waiting {
			matches(t, await(t, got).err, client.ErrClosed)
		}
		for _, lock := range locks {
			<-lock.Done()
			matches(t, lock.Err(), client.ErrReleased)
		}
		w.let("k")
		w.checkIdle("after Close")
		w.checkClosed(t)
	})
}

func TestCallsAfterCloseSaySo(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "held")
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("closing: %v", err)
		}
		said := len(w.requests(0))
		for name, call := range calls() {
			if err := call(t.Context(), c); err == nil {
				t.Errorf("%s: no error", name)
			} else {
				matches(t, err, client.ErrClosed)
			}
		}
		matches(t, c.Release(t.Context(), "k", 5), client.ErrClosed)
		if err := lock.Keep(t.Context(), time.Hour); err == nil {
			t.Error("keep after Close: no error")
		}
		_ = lock.Release(t.Context())
		_ = c.Stats()
		if n := len(w.requests(0)); n != said {
			t.Errorf("%d requests were sent after Close", n-said)
		}
		time.Sleep(time.Minute)
		if n := len(w.dialled()); n != 2 {
			t.Errorf("%d dials, want 2", n)
		}
	})
}

func TestCloseTwiceAndAtOnce(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.acquire(c, "k")
		done := make(chan error)
		for range 10 {
			go func() { done <- c.Close(t.Context()) }()
		}
		for range 10 {
			<-done
		}
		w.checkIdle("after Close")
		_ = c.Close(t.Context())
	})
}

// TestCloseReturnsByItsContext: in every state of the network.
func TestCloseReturnsByItsContext(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w *world){
		"vanished":  func(w *world) { w.vanish(nodeA) },
		"stopped":   func(w *world) { w.stop(nodeA) },
		"hangs":     func(w *world) { w.set(nodeA, hangs); w.reset(nodeA) },
		"not ready": func(w *world) { w.moveSilently("") },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				w.leaves = true
				c := w.client([]string{nodeA})
				lock := w.acquire(c, "k")
				w.hold("other", time.Hour)
				waiting := w.acquireLater(t.Context(), c, "other")
				lose(w)
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				err := c.Close(ctx)
				if waited := time.Since(start); err == nil || waited > 2*time.Second {
					t.Errorf("it returned %v after %s", err, waited)
				}
				matches(t, await(t, waiting).err, client.ErrClosed)
				<-lock.Done()
				w.checkClosed(t)
			})
		})
	}
}

func TestCloseWithACancelledContextStillCloses(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.leaves = true
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = c.Close(ctx)
		<-lock.Done()
		w.checkClosed(t)
	})
}

func TestAClientThatNeverReachedAServerCloses(t *testing.T) {
	t.Parallel()
	for _, mode := range []dialMode{refuses, hangs, mute} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				w.set(nodeA, mode)
				c := w.client([]string{nodeA})
				start := time.Now()
				if err := c.Close(t.Context()); err != nil || time.Since(start) > time.Second {
					t.Errorf("closing: %v after %s", err, time.Since(start))
				}
			})
		})
	}
}

// TestCloseDuringARestartReleases: within its context it goes on trying.
func TestCloseDuringARestartReleases(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.acquire(c, "k", client.WithLease(time.Hour))
		w.stop(nodeA)
		time.AfterFunc(2*time.Second, func() { w.start(nodeA) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
		w.checkIdle("after Close")
	})
}

func TestAnAcquireThatRacesCloseHoldsNothing(t *testing.T) {
	t.Parallel()
	for range 50 {
		play(t, []string{nodeA}, func(t *testing.T, w *world) {
			c := w.client([]string{nodeA})
			got := make(chan result, 20)
			for i := range cap(got) {
				go func() {
					lock, err := c.Acquire(t.Context(), fmt.Sprint(i%3))
					got <- result{lock: lock, err: err}
				}()
			}
			go func() { _ = c.Close(t.Context()) }()
			for range cap(got) {
				if r := <-got; r.err != nil {
					matches(t, r.err, client.ErrClosed)
				} else {
					<-r.lock.Done()
				}
			}
			if n := len(w.requests(wire.OpAcquire)); n > 20 {
				t.Errorf("%d acquires for 20 calls", n)
			}
		})
	}
}

func TestCloseEndsTheWorkOfDo(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		started, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- c.Do(t.Context(), "k", func(ctx context.Context) error {
				close(started)
				<-ctx.Done()
				matches(t, context.Cause(ctx), client.ErrClosed)
				return ctx.Err()
			})
		}()
		<-started
		_ = c.Close(t.Context())
		if err := <-ended; err == nil {
			t.Error("Do does not say that the lock ended")
		}
	})
}
