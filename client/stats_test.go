package client_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

func TestStatsCountWhatHappened(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k", client.WithLease(3*time.Second))
		_, err := c.TryAcquire(t.Context(), "k")
		matches(t, err, client.ErrTimeout)
		time.Sleep(1500 * time.Millisecond)
		if got := c.Stats(); got.Connections != 2 || got.Held != 1 || got.Renewed != 1 {
			t.Errorf("while a lock is held: %+v", got)
		}
		w.release(lock)
		lost := w.acquire(c, "k", client.WithLease(time.Second), client.WithoutRenewal())
		<-lost.Done()
		w.reset(nodeA)
		time.Sleep(5 * time.Second)
		got := c.Stats()
		want := client.Stats{
			Connections: 2, Acquired: 2, TimedOut: 1, Released: 1, Lost: 1, Renewed: 1,
			Dials: 4, Connects: 4,
		}
		if got != want {
			t.Errorf("got\n%+v, want\n%+v", got, want)
		}
	})
}

// TestALoadOfCallersShareTheConnections: pipelining, without a connection each.
func TestALoadOfCallersShareTheConnections(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.hold("k", time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		var got []<-chan result
		for range 500 {
			got = append(got, w.acquireLater(ctx, c, "k"))
		}
		if _, waiters := w.holder("k"); waiters != 500 {
			t.Errorf("%d wait, want 500", waiters)
		}
		if n := len(w.dialled()); n != 2 {
			t.Errorf("%d dials, want 2", n)
		}
		cancel()
		for _, one := range got {
			matches(t, await(t, one).err, context.Canceled)
		}
		if _, waiters := w.holder("k"); waiters != 0 {
			t.Errorf("%d wait after the cancel", waiters)
		}
		w.let("k")
	})
}

// TestAServerThatReadsNothingHoldsUpNobodyForEver: the buffers are full.
func TestAServerThatReadsNothingHoldsUpNobodyForEver(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		stuck := make(chan struct{})
		c := w.client([]string{nodeA})
		w.on("", func(*session, *wire.Request) action {
			<-stuck
			return action{}
		})
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		const callers = 3000
		done := make(chan error, callers)
		key := strings.Repeat("k", wire.MaxKey)
		for range callers {
			go func() {
				_, err := c.Query(ctx, key)
				done <- err
			}()
		}
		for range callers {
			if err := <-done; err == nil {
				t.Error("a query was answered")
			}
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		close(stuck)
		w.on("", nil)
		time.Sleep(time.Minute)
		w.release(w.acquire(c, "k"))
	})
}
