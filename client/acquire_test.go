package client_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

func TestALockHasATokenAKeyAndADeadline(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		before := time.Now()
		lock := w.acquire(c, "orders/ 42 ", client.WithLease(20*time.Second))
		if token, _ := w.holder("orders/ 42 "); lock.Token() != token || token == 0 {
			t.Errorf("the token is %d, the server granted %d", lock.Token(), token)
		}
		if lock.Key() != "orders/ 42 " || !lock.Deadline().Equal(before.Add(20*time.Second)) {
			t.Errorf("key %q, deadline %s after the acquire", lock.Key(), lock.Deadline().Sub(before))
		}
		if lock.Err() != nil || lock.Context().Err() != nil {
			t.Errorf("a held lock ended: %v, %v", lock.Err(), lock.Context().Err())
		}
		w.release(lock)
		<-lock.Done()
		matches(t, lock.Err(), client.ErrReleased)
		matches(t, context.Cause(lock.Context()), client.ErrReleased)
		w.checkIdle("after the release")
	})
}

func TestTokensGrow(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		for last := uint64(0); last < 1<<60+10; {
			lock := w.acquire(c, "k")
			if lock.Token() <= last {
				t.Fatalf("token %d after %d", lock.Token(), last)
			}
			last = lock.Token()
			w.release(lock)
		}
	})
}

func TestTryAcquireDoesNotWait(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c, start := w.client([]string{nodeA}), time.Now()
		w.hold("k", time.Minute)
		_, err := c.TryAcquire(t.Context(), "k")
		matches(t, err, client.ErrTimeout)
		_, err = c.Acquire(t.Context(), "k", client.WithoutWait())
		matches(t, err, client.ErrTimeout)
		w.let("k")
		lock, err := c.TryAcquire(t.Context(), "k")
		if err != nil || time.Since(start) != 0 {
			t.Fatalf("a free key: %v after %s", err, time.Since(start))
		}
		w.release(lock)
		for _, a := range w.requests(wire.OpAcquire) {
			if a.Wait != wire.Try {
				t.Errorf("%q waits", a.line)
			}
		}
	})
}

func TestAnAcquireWaitsAsLongAsItWasTold(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c, start := w.client([]string{nodeA}), time.Now()
		w.hold("k", time.Hour)
		_, err := c.Acquire(t.Context(), "k", client.WithWait(7*time.Second))
		matches(t, err, client.ErrTimeout)
		if waited := time.Since(start); waited != 7*time.Second {
			t.Errorf("it waited %s", waited)
		}
		if _, waiters := w.holder("k"); waiters != 0 {
			t.Errorf("%d still wait", waiters)
		}
		got := w.acquireLater(t.Context(), c, "k")
		time.Sleep(30 * time.Minute)
		pending(t, got)
		w.let("k")
		w.release(w.granted(got))
	})
}

func TestDurationsRoundUp(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.hold("k", time.Minute)
		_, err := c.Acquire(t.Context(), "k", client.WithLease(1), client.WithWait(1))
		matches(t, err, client.ErrTimeout)
		_, err = c.Acquire(t.Context(), "k", client.WithLease(1500*time.Microsecond), client.WithWait(999*time.Microsecond))
		matches(t, err, client.ErrTimeout)
		lock := w.acquire(c, "free", client.WithoutRenewal())
		if err := lock.Keep(t.Context(), 1); err != nil {
			t.Errorf("keeping a nanosecond: %v", err)
		}
		asked := w.requests(wire.OpAcquire)
		if asked[0].Lease != time.Millisecond || asked[0].Wait != time.Millisecond {
			t.Errorf("%q does not ask for a millisecond", asked[0].line)
		}
		if asked[1].Lease != 2*time.Millisecond || asked[1].Wait != time.Millisecond {
			t.Errorf("%q does not round up", asked[1].line)
		}
		if kept := w.requests(wire.OpKeep); kept[0].Lease != time.Millisecond {
			t.Errorf("%q does not ask for a millisecond", kept[0].line)
		}
		w.let("k")
	})
}

func TestZeroIsNoDuration(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "held")
		for what, opt := range map[string]client.LockOption{
			"WithWait(0)": client.WithWait(0), "WithWait(-1)": client.WithWait(-1),
			"WithLease(0)": client.WithLease(0), "WithLease(-1)": client.WithLease(-1),
		} {
			if _, err := c.Acquire(t.Context(), "k", opt); err == nil {
				t.Errorf("%s is accepted", what)
			}
		}
		for _, lease := range []time.Duration{0, -1} {
			if c.Keep(t.Context(), "held", lock.Token(), lease) == nil || lock.Keep(t.Context(), lease) == nil {
				t.Errorf("a lease of %d is accepted", lease)
			}
		}
		w.release(lock)
		if n := len(w.requests(wire.OpAcquire)) + len(w.requests(wire.OpKeep)); n != 1 {
			t.Errorf("%d requests were sent, want 1", n)
		}
	})
}

func TestAKeyThatIsNoneIsNotSent(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		for _, key := range []string{"", "a\nb", "a\rb", "a\x00b", "\n", strings.Repeat("k", wire.MaxKey+1)} {
			_, acquire := c.Acquire(t.Context(), key)
			_, query := c.Query(t.Context(), key)
			for _, err := range []error{
				acquire, query, c.Release(t.Context(), key, 5), c.Keep(t.Context(), key, 5, time.Second),
			} {
				if err == nil || errors.Is(err, client.ErrUnavailable) {
					t.Errorf("key %.20q: %v", key, err)
				}
			}
		}
		w.release(w.acquire(c, strings.Repeat("\xff ", wire.MaxKey/2)))
		if n := len(w.requests(wire.OpAcquire)); n != 1 {
			t.Errorf("%d acquires were sent, want 1", n)
		}
	})
}

func TestARefusalSaysItsCode(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		for _, code := range []wire.Code{
			wire.CodeBadLease, wire.CodeBadWait, wire.CodeBadKey, wire.CodeTooManyKeys,
			wire.CodeTooManyWaiters, wire.CodeDenied, "of-a-later-version",
		} {
			w.on("", func(_ *session, r *wire.Request) action {
				if len(r.Key) == 0 {
					return action{}
				}
				return action{say: refusal(r, code)}
			})
			_, acquire := c.Acquire(t.Context(), "k")
			_, query := c.Query(t.Context(), "k")
			for _, err := range []error{acquire, query} {
				var refused *client.RefusedError
				if !errors.As(err, &refused) || refused.Code != code || !errors.Is(err, client.ErrRefused) {
					t.Errorf("%s: %v", code, err)
				}
			}
		}
		w.on("", nil)
	})
}

func TestQueryTellsWhoHoldsAKey(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		token := w.hold("k", time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		got := w.acquireLater(ctx, c, "k")
		status, err := c.Query(t.Context(), "k")
		want := client.Status{Key: "k", Token: token, Left: time.Minute, Waiters: 1}
		if err != nil || status != want {
			t.Errorf("got %+v, %v, want %+v", status, err, want)
		}
		cancel()
		await(t, got)
		w.let("k")
		if status, err := c.Query(t.Context(), "k"); err != nil || status != (client.Status{Key: "k"}) {
			t.Errorf("a free key: %+v, %v", status, err)
		}
	})
}

func TestNotReadyIsAskedAgain(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA, nodeB})
		w.moveSilently("")
		got := w.acquireLater(t.Context(), c, "k")
		time.Sleep(2 * time.Second)
		pending(t, got)
		w.moveSilently(nodeB)
		w.release(w.granted(got))
		if asked := len(w.requests(wire.OpAcquire)); asked > 100 {
			t.Errorf("it asked %d times within seconds", asked)
		}
	})
}

func TestAGrantWithinTheSameInstantAsItsEndIsSeen(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		for i := range 50 {
			w.hold("k", time.Second)
			lock, err := c.Acquire(t.Context(), "k", client.WithWait(time.Second))
			switch {
			case err == nil:
				w.release(lock)
			case !errors.Is(err, client.ErrTimeout):
				t.Fatalf("%d: %v", i, err)
			}
			synctest.Wait()
			w.checkIdle("after the acquire")
		}
	})
}

func TestHugeDurationsDoNotOverflow(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.locked(func() { w.table.maxLease = math.MaxInt64 })
		c := w.client([]string{nodeA})
		for _, lease := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, wire.MaxWait + 1, 200 * 365 * 24 * time.Hour} {
			lock, err := c.Acquire(t.Context(), "k", client.WithLease(lease), client.WithWait(lease))
			if err != nil {
				continue // refused is as good
			}
			if lock.Deadline().Before(time.Now().Add(365 * 24 * time.Hour)) {
				t.Errorf("a lease of %s ends in %s", lease, time.Until(lock.Deadline()))
			}
			if err := lock.Keep(t.Context(), lease); err != nil {
				t.Errorf("keeping for %s: %v", lease, err)
			}
			w.release(lock)
		}
		for _, a := range w.requests(wire.OpAcquire) {
			if a.Wait == wire.Forever || a.Lease < 365*24*time.Hour {
				t.Errorf("%q", a.line)
			}
		}
	})
}
