package client_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

func TestACancelledContextTakesNothing(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, acquire := c.Acquire(ctx, "k")
		_, try := c.TryAcquire(ctx, "k")
		do := c.Do(ctx, "k", func(context.Context) error { t.Error("it ran"); return nil })
		for _, err := range []error{acquire, try, do} {
			matches(t, err, context.Canceled)
		}
		if asked := w.requests(wire.OpAcquire); len(asked) != 0 {
			t.Errorf("%d acquires were sent", len(asked))
		}
	})
}

func TestCancellingAWaitingAcquireWithdrawsIt(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.hold("k", time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		got := w.acquireLater(ctx, c, "k")
		cancel()
		r := await(t, got)
		_, waiters := w.holder("k")
		matches(t, r.err, context.Canceled)
		if waiters != 0 || errors.Is(r.err, client.ErrUnavailable) {
			t.Errorf("%d wait after %v", waiters, r.err)
		}
		asked, cancelled := w.requests(wire.OpAcquire), w.requests(wire.OpCancel)
		if len(cancelled) != 1 || cancelled[0].Target != asked[0].Tag {
			t.Errorf("%d cancels, want one of tag %d", len(cancelled), asked[0].Tag)
		}
		w.let("k")
	})
}

func TestADeadlineWithdrawsAWaitingAcquire(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c, start := w.client([]string{nodeA}), time.Now()
		w.hold("k", time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := c.Acquire(ctx, "k")
		matches(t, err, context.DeadlineExceeded)
		returnedBy(t, start, 3*time.Second)
		if _, waiters := w.holder("k"); waiters != 0 {
			t.Errorf("%d still wait", waiters)
		}
		w.let("k")
	})
}

// returnedBy: by the deadline, and little before it.
func returnedBy(t *testing.T, start time.Time, deadline time.Duration) {
	t.Helper()
	if took := time.Since(start); took > deadline || took < deadline-100*time.Millisecond {
		t.Errorf("it returned after %s", took)
	}
}

// TestAGrantThatRacesACancelIsHeldOrNot: after the call has returned there is
// nothing in between.
func TestAGrantThatRacesACancelIsHeldOrNot(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		for range 200 {
			w.hold("k", time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			got := w.acquireLater(ctx, c, "k")
			steps := []func(){func() { w.let("k") }, cancel}
			rand.Shuffle(2, func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
			go steps[0]()
			go steps[1]()
			r := await(t, got)
			if r.err != nil {
				matches(t, r.err, context.Canceled)
				synctest.Wait()
				w.checkIdle("after the cancelled acquire")
				continue
			}
			if token, _ := w.holder("k"); token != r.lock.Token() {
				t.Errorf("the lock says it holds %d, the server %d", r.lock.Token(), token)
			}
			w.release(r.lock)
		}
	})
}

func TestAGrantThatComesAfterTheCallHasReturnedIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]action{
		"late": {late: 4 * time.Second}, "lost": {drop: true}, "never carried out": {ignore: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c, start := w.client([]string{nodeA}), time.Now()
				w.on("", func(_ *session, r *wire.Request) action {
					if r.Op == wire.OpAcquire {
						return does
					}
					return action{}
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := c.Acquire(ctx, "k")
				matches(t, err, context.DeadlineExceeded)
				returnedBy(t, start, time.Second)
				w.checkIdle("after the call")
				time.Sleep(10 * time.Second)
				w.checkIdle("10 s later")
			})
		})
	}
}

// TestEveryCallReturnsByItsDeadline: also if every node is a black hole, from
// the start or from the middle of the call.
func TestEveryCallReturnsByItsDeadline(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx context.Context, c *client.Client, lock *client.Lock) error{
		"acquire": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			_, err := c.Acquire(ctx, "k")
			return err
		},
		"try": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			_, err := c.TryAcquire(ctx, "k")
			return err
		},
		"query": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			_, err := c.Query(ctx, "k")
			return err
		},
		"keep": func(ctx context.Context, _ *client.Client, lock *client.Lock) error {
			return lock.Keep(ctx, time.Minute)
		},
		"keep by token": func(ctx context.Context, c *client.Client, lock *client.Lock) error {
			return c.Keep(ctx, "held", lock.Token(), time.Minute)
		},
		"release": func(ctx context.Context, _ *client.Client, lock *client.Lock) error {
			return lock.Release(ctx)
		},
		"release by token": func(ctx context.Context, c *client.Client, lock *client.Lock) error {
			return c.Release(ctx, "held", lock.Token())
		},
		"do": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return c.Do(ctx, "k", func(context.Context) error { return nil })
		},
		"close": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return c.Close(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) { returnsInTime(t, w, call) })
		})
	}
}

func returnsInTime(t *testing.T, w *world, call func(context.Context, *client.Client, *client.Lock) error) {
	w.leaves = true
	c := w.client([]string{nodeA, nodeB})
	lock := w.acquire(c, "held")
	w.vanish(nodeA)
	w.vanish(nodeB)
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err := call(ctx, c, lock)
	if waited := time.Since(start); err == nil || waited > 2*time.Second {
		t.Errorf("it returned %v after %s", err, waited)
	}
	matches(t, err, context.DeadlineExceeded)
}

// TestACancelReturnsSoonWhenEveryNodeIsABlackHole: the clean-up must not hang.
func TestACancelReturnsSoonWhenEveryNodeIsABlackHole(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA, nodeB})
		w.hold("k", 40*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		got := w.acquireLater(ctx, c, "k")
		w.vanish(nodeA)
		w.vanish(nodeB)
		start := time.Now()
		cancel()
		r := await(t, got)
		matches(t, r.err, context.Canceled)
		if waited := r.at.Sub(start); waited > 5*time.Second {
			t.Errorf("it returned after %s", waited)
		}
		time.Sleep(time.Minute)
	})
}

// TestACancelWhileTheServerIsAwayIsMadeUpFor: the place in the queue does not
// outlive the grace, and nothing is taken later.
func TestACancelWhileTheServerIsAwayIsMadeUpFor(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.hold("k", 30*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		got := w.acquireLater(ctx, c, "k")
		w.stop(nodeA)
		cancel()
		w.start(nodeA)
		matches(t, await(t, got).err, context.Canceled)
		time.Sleep(6 * time.Second)
		if _, waiters := w.holder("k"); waiters != 0 {
			t.Errorf("%d wait", waiters)
		}
		time.Sleep(30 * time.Second)
		w.checkIdle("after the holder's lease")
	})
}
