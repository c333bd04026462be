package client_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// nodesOf counts the requests about keys at each node.
func nodesOf(requests []asked) map[string]int {
	used := make(map[string]int)
	for _, a := range requests {
		if len(a.Key) > 0 {
			used[a.s.node.addr]++
		}
	}
	return used
}

func TestOnlyTheActiveNodeIsAsked(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB, nodeC}, func(t *testing.T, w *world) {
		w.moveSilently(nodeB)
		c := w.client([]string{nodeA, nodeB, nodeC})
		for range 10 {
			w.release(w.acquire(c, "k"))
		}
		if used := nodesOf(w.requests(0)); used[nodeB] != 20 || len(used) != 1 {
			t.Errorf("requests by node: %v, want all at the active", used)
		}
	})
}

func TestARedirectIsFollowedToAnAddressNotGiven(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		w.moveSilently(nodeB)
		start := time.Now()
		c := w.client([]string{nodeA})
		for range 10 {
			w.release(w.acquire(c, "k"))
		}
		if used := nodesOf(w.requests(0)); used[nodeB] != 20 || time.Since(start) > time.Second {
			t.Errorf("requests by node: %v, after %s", used, time.Since(start))
		}
	})
}

// TestANoticeIsFollowedToAnAddressNotGiven: with a lock held and one waited for.
func TestANoticeIsFollowedToAnAddressNotGiven(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "mine")
		w.hold("k", time.Hour)
		got := w.acquireLater(t.Context(), c, "k")
		w.move(nodeB)
		synctest.Wait()
		w.stop(nodeA)
		time.Sleep(3 * time.Second)
		pending(t, got)
		w.let("k")
		w.release(w.granted(got))
		time.Sleep(time.Minute)
		if lock.Err() != nil {
			t.Errorf("the lock held over the move ended: %v", lock.Err())
		}
		w.release(lock)
	})
}

func TestAnAcquireThatWaitsMovesWithTheRole(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		one, two := w.client([]string{nodeA, nodeB}), w.client([]string{nodeB, nodeA})
		w.hold("k", time.Hour)
		first := w.acquireLater(t.Context(), one, "k", client.WithWait(time.Minute))
		second := w.acquireLater(t.Context(), two, "k")
		for i := range 10 {
			time.Sleep(time.Second)
			w.move([]string{nodeB, nodeA}[i%2])
			time.Sleep(time.Second)
			if _, waiters := w.holder("k"); waiters != 2 {
				t.Fatalf("%d wait after move %d, want 2", waiters, i)
			}
		}
		pending(t, first)
		w.let("k")
		lock := w.granted(first)
		pending(t, second)
		w.release(lock)
		w.release(w.granted(second))
	})
}

// TestAnAddressThatCannotBeDialledIsForgotten: the own list counts again.
func TestAnAddressThatCannotBeDialledIsForgotten(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{"by an answer": "", "by a notice": "M nowhere.test:1 1999999999"} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA, nodeB})
				if how != "" {
					w.say(nodeA, how)
					w.say(nodeB, how)
				} else {
					w.on(nodeA, times(2, wire.OpAcquire, action{say: "M#1 nowhere.test:1 A k"}))
				}
				w.release(w.acquire(c, "k"))
				time.Sleep(2 * time.Minute)
				if n := len(w.dialsTo("nowhere.test:1")); n > 40 {
					t.Errorf("%d dials to an address that does not exist", n)
				}
			})
		})
	}
}

func TestNodesThatPointAtEachOtherAreNotAskedWithoutEnd(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		for addr, other := range map[string]string{nodeA: nodeB, nodeB: nodeA} {
			w.on(addr, func(_ *session, r *wire.Request) action {
				if len(r.Key) == 0 || r.Op == wire.OpCancel {
					return action{}
				}
				return action{say: fmt.Sprintf("M#%d %s %c %s", r.Tag, other, r.Op, r.Key)}
			})
		}
		c, start := w.client([]string{nodeA, nodeB}), time.Now()
		_, err := c.Acquire(t.Context(), "k")
		matches(t, err, client.ErrUnavailable)
		if took := time.Since(start); took > 7*time.Second {
			t.Errorf("it took %s", took)
		}
		if n := len(w.requests(wire.OpAcquire)); n < 2 || n > 60 {
			t.Errorf("%d requests were sent", n)
		}
		w.on("", nil)
		w.release(w.acquire(c, "k"))
	})
}

// TestANoticeOfTheOwnAddressIsANewConnection: without an error to anybody.
func TestANoticeOfTheOwnAddressIsANewConnection(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "mine")
		w.hold("k", time.Hour)
		got := w.acquireLater(t.Context(), c, "k")
		var old []*session
		w.locked(func() {
			for s := range w.nodes[nodeA].sessions {
				old = append(old, s)
				s.say(fmt.Sprintf("M %s %d", nodeA, w.generation))
			}
		})
		time.Sleep(time.Second)
		w.release(w.acquire(c, "other"))
		requests := w.requests(wire.OpRelease)
		if s := requests[len(requests)-1].s; s == old[0] || s == old[1] {
			t.Error("the old connection is still used")
		}
		for _, s := range old {
			_ = s.link.server.Close()
		}
		pending(t, got)
		w.let("k")
		w.release(w.granted(got))
		if lock.Err() != nil {
			t.Errorf("the lock held ended: %v", lock.Err())
		}
		w.release(lock)
		if n := len(w.open(nodeA)); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})
}

// TestANoticeOfTheOwnAddressAgainAndAgain is no storm.
func TestANoticeOfTheOwnAddressAgainAndAgain(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.locked(func() {
			n := w.nodes[nodeA]
			n.greeting = func(_ *session, r *wire.Request) (string, bool) {
				return line(n.helloReply(r)) + fmt.Sprintf("\nM %s %d", nodeA, n.generation()), true
			}
		})
		w.trouble(func(l *link) {
			if l.index > 5000 {
				w.set(nodeA, hangs)
			}
		})
		c := w.client([]string{nodeA})
		w.release(w.acquire(c, "k"))
		time.Sleep(10 * time.Second)
		if n := len(w.dialsTo(nodeA)); n > 150 {
			t.Errorf("%d dials in 10 s", n)
		}
		w.locked(func() { w.nodes[nodeA].greeting = nil })
	})
}

// TestOfTwoActivesTheGreaterGenerationCounts: whichever was met first.
func TestOfTwoActivesTheGreaterGenerationCounts(t *testing.T) {
	t.Parallel()
	for name, addrs := range map[string][]string{"first": {nodeA, nodeB}, "last": {nodeB, nodeA}} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
				w.claim(nodeB, w.generation+10)
				c := w.client(addrs)
				for range 10 {
					w.release(w.acquire(c, "k"))
				}
				if used := nodesOf(w.requests(0)); used[nodeB] != 20 {
					t.Errorf("requests by node: %v, want all at the greater generation", used)
				}
			})
		})
	}
}

func TestASmallerGenerationIsIgnored(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		w.claim(nodeB, 5)
		c := w.client([]string{nodeA, nodeB})
		w.say(nodeB, "M b.test:7301 5")
		w.say(nodeA, "M b.test:7301 5")
		for range 10 {
			w.release(w.acquire(c, "k"))
		}
		if used := nodesOf(w.requests(0)); used[nodeA] != 20 {
			t.Errorf("requests by node: %v, want all at the greater generation", used)
		}
		w.reset(nodeB)
		time.Sleep(time.Second)
		w.release(w.acquire(c, "k"))
		if used := nodesOf(w.requests(0)); used[nodeA] != 22 {
			t.Errorf("requests by node: %v, want all at the greater generation", used)
		}
	})
}

// TestAWaiterLeavesAnActiveThatWasReplaced: even if that one says nothing.
func TestAWaiterLeavesAnActiveThatWasReplaced(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		w.leaves = true
		c := w.client([]string{nodeA, nodeB})
		w.hold("k", time.Hour)
		got := w.acquireLater(t.Context(), c, "k")
		generation := w.generation + 10
		w.claim(nodeB, generation)
		w.say(nodeB, fmt.Sprintf("M %s %d", nodeB, generation))
		lock := w.granted(got)
		if used := nodesOf(w.requests(0)); used[nodeB] == 0 {
			t.Errorf("requests by node: %v", used)
		}
		w.release(lock)
	})
}

func TestAHandoffUnderLoadIsSeenByNobody(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB, nodeC}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA, nodeB})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		done := make(chan int)
		for i := range 20 {
			go func() { done <- pairs(ctx, t, c, fmt.Sprint(i%5)) }()
		}
		for i := range 40 {
			time.Sleep(time.Second)
			w.move([]string{nodeA, nodeB, nodeC}[i%3])
		}
		cancel()
		for range 20 {
			if n := <-done; n < 10 {
				t.Errorf("a goroutine came through %d times", n)
			}
		}
		synctest.Wait()
	})
}

// pairs acquires and releases until the context ends; nothing else may fail.
func pairs(ctx context.Context, t *testing.T, c *client.Client, key string) (n int) {
	for ctx.Err() == nil {
		lock, err := c.Acquire(ctx, key)
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("acquire: %v", err)
			}
			continue
		}
		time.Sleep(10 * time.Millisecond)
		if err := lock.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
		n++
	}
	return n
}

// TestOneLiveNodeIsEnough: the one of the greater generation is gone for good.
func TestOneLiveNodeIsEnough(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		w.claim(nodeB, w.generation+10)
		c := w.client([]string{nodeA, nodeB})
		w.release(w.acquire(c, "k"))
		w.stop(nodeB)
		time.Sleep(20 * time.Second)
		w.release(w.acquire(c, "k"))
		if used := nodesOf(w.requests(0)); used[nodeA] != 2 || used[nodeB] != 2 {
			t.Errorf("requests by node: %v", used)
		}
	})
}
