package client_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// carrier returns the connection that a request came on.
func carrier(a asked) *link { return a.s.link }

// TestAnAcquireMovesAsTheSameAcquire: same client, same tag, the old connection
// given up first, what is left of the wait.
func TestAnAcquireMovesAsTheSameAcquire(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.hold("k", time.Hour)
		got := w.acquireLater(t.Context(), c, "k", client.WithWait(10*time.Second))
		time.Sleep(4 * time.Second)
		carrier(w.requests(wire.OpAcquire)[0]).reset()
		pending(t, got)
		asked := w.requests(wire.OpAcquire)
		if len(asked) != 2 {
			t.Fatalf("%d acquires were sent, want 2", len(asked))
		}
		first, second := asked[0], asked[1]
		if second.Tag != first.Tag || second.s.client != first.s.client || second.s == first.s {
			t.Errorf("%q after %q is another acquire", second.line, first.line)
		}
		if !second.s.gaveUp[first.s.number] || second.Wait != 6*time.Second {
			t.Errorf("%q: X first %t, want a wait of 6 s", second.line, second.s.gaveUp[first.s.number])
		}
		w.let("k")
		w.release(w.granted(got))
	})
}

func TestAnAcquireThatMovesKeepsItsPlace(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		one, two := w.client([]string{nodeA}), w.client([]string{nodeA})
		w.hold("k", time.Hour)
		first := w.acquireLater(t.Context(), one, "k")
		second := w.acquireLater(t.Context(), two, "k")
		w.reset(nodeA)
		synctest.Wait()
		time.Sleep(time.Second)
		w.let("k")
		lock := w.granted(first)
		pending(t, second)
		w.release(lock)
		w.release(w.granted(second))
	})
}

// TestAnAcquireSurvivesARestart: its place is kept for the grace, 5 s.
func TestAnAcquireSurvivesARestart(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.hold("k", time.Hour)
		got := w.acquireLater(t.Context(), c, "k")
		w.stop(nodeA)
		time.Sleep(500 * time.Millisecond)
		w.start(nodeA)
		time.Sleep(4 * time.Second)
		pending(t, got)
		if _, waiters := w.holder("k"); waiters != 1 {
			t.Errorf("%d wait, want 1", waiters)
		}
		w.let("k")
		w.release(w.granted(got))
	})
}

// TestAnAcquireWithNoWaitLeftTries: the wait that is over must not become 0,
// which is for ever.
func TestAnAcquireWithNoWaitLeftTries(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.hold("k", time.Hour)
		got := w.acquireLater(t.Context(), c, "k", client.WithWait(time.Second))
		carrier(w.requests(wire.OpAcquire)[0]).vanish()
		matches(t, await(t, got).err, client.ErrTimeout)
		asked := w.requests(wire.OpAcquire)
		if last := asked[len(asked)-1]; len(asked) < 2 || last.Wait != wire.Try || last.Tag != asked[0].Tag {
			t.Errorf("%d acquires, the last %q", len(asked), last.line)
		}
		if _, waiters := w.holder("k"); waiters != 0 {
			t.Errorf("%d still wait", waiters)
		}
		w.let("k")
	})
}

func TestAGrantWhoseReplyIsLostIsTheSameGrant(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]action{
		"cut after":  {cutAfter: true},
		"cut before": {cutBefore: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				w.on("", once(wire.OpAcquire, does))
				lock := w.acquire(c, "k")
				if token, _ := w.holder("k"); token != lock.Token() || w.grants() != 1 {
					t.Errorf("token %d, the server has %d and granted %d times", lock.Token(), token, w.grants())
				}
				w.release(lock)
			})
		})
	}
}

// once has the first request of an op meet with a fate.
func once(op wire.Op, does action) func(*session, *wire.Request) action {
	return times(1, op, does)
}

func times(n int, op wire.Op, does action) func(*session, *wire.Request) action {
	left := make(chan struct{}, n)
	for range n {
		left <- struct{}{}
	}
	return func(_ *session, r *wire.Request) action {
		if r.Op != op {
			return action{}
		}
		select {
		case <-left:
			return does
		default:
			return action{}
		}
	}
}

// TestAReplyThatComesTwiceIsOneReply: the second grant is of a token that the
// client holds, so it is no stray one.
func TestAReplyThatComesTwiceIsOneReply(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.on("", func(*session, *wire.Request) action { return action{twice: true} })
		for range 10 {
			lock := w.acquire(c, "k")
			synctest.Wait()
			if token, _ := w.holder("k"); token != lock.Token() {
				t.Errorf("the lock holds %d, the server %d", lock.Token(), token)
			}
			if err := lock.Keep(t.Context(), time.Minute); err != nil {
				t.Errorf("keeping: %v", err)
			}
			w.release(lock)
		}
		if n := len(w.requests(wire.OpRelease)); n != 10 {
			t.Errorf("%d releases were sent, want 10", n)
		}
	})
}

// queryingHandler asks a server with each line about a grant. While a connection is
// locked that would take for ever.
type queryingHandler struct {
	countingHandler
	client *client.Client
	lines  atomic.Int64
}

func (h *queryingHandler) Handle(ctx context.Context, r slog.Record) error {
	if !strings.Contains(r.Message, "grant") {
		return nil
	}
	h.lines.Add(1)
	for range 2 { // on each connection
		within, cancel := context.WithTimeout(ctx, time.Millisecond)
		_, _ = h.client.Query(within, "k")
		cancel()
	}
	return nil
}

// TestAStrayGrantIsReleased: one that no call waits for. Who logs that may use the
// client.
func TestAStrayGrantIsReleased(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		var h queryingHandler
		c := w.client([]string{nodeA}, client.WithLogger(slog.New(&h)))
		h.client = c
		lock := w.acquire(c, "mine")
		s := w.requests(wire.OpAcquire)[0].s
		w.locked(func() {
			l := w.table.lockOf("k")
			w.table.hold(l, acquireID{s.client, 1 << 50}, time.Hour)
			s.grant(1<<50, l)
		})
		synctest.Wait()
		if token, _ := w.holder("k"); token != 0 {
			t.Error("the stray grant is still held")
		}
		if n := h.lines.Load(); n != 1 {
			t.Errorf("%d lines were logged about it", n)
		}
		if lock.Err() != nil {
			t.Errorf("the other lock ended: %v", lock.Err())
		}
		w.release(lock)
	})
}

// TestAServerThatSpeaksNonsenseIsLeft: the connection is of no use, the calls on
// it are.
func TestAServerThatSpeaksNonsenseIsLeft(t *testing.T) {
	t.Parallel()
	for _, nonsense := range []string{"", "HTTP/1.1 400 Bad Request", "A#1", "Z 5", "E malformed what?"} {
		t.Run(nonsense, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				w.on("", once(wire.OpAcquire, action{say: nonsense}))
				w.release(w.acquire(c, "k"))
			})
		})
	}
}

func TestRepliesThatNobodyWaitsForAreNotMinded(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k")
		for _, line := range []string{
			"T#7 k", "T k", "R#8 5 k", "K 5 k", "P", "P#9", "X 77", "C#5 4 k", "Q#4 0 0 0 k",
			"E#3 A denied k", "E K not-held k", "M#2 b.test:1 A k", "E#6 R taken k",
		} {
			w.say(nodeA, line)
		}
		synctest.Wait()
		if lock.Err() != nil {
			t.Errorf("the lock ended: %v", lock.Err())
		}
		w.release(lock)
	})
}

func TestACancelFollowsAnAcquireThatMoved(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.hold("k", time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		got := w.acquireLater(ctx, c, "k")
		carrier(w.requests(wire.OpAcquire)[0]).reset()
		go cancel()
		matches(t, await(t, got).err, context.Canceled)
		if _, waiters := w.holder("k"); waiters != 0 {
			t.Errorf("%d wait after the call", waiters)
		}
		w.let("k")
	})
}
