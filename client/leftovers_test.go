package client_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// TestARefusedRepetitionLeavesNothing: the first sending was granted, or waits,
// and its answer is lost; "refused" is only about the second.
func TestARefusedRepetitionLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, code := range []wire.Code{wire.CodeBadLease, wire.CodeDenied, wire.CodeTooManyKeys} {
		t.Run(string(code), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				first := once(wire.OpAcquire, action{cutAfter: true})
				w.on("", func(s *session, r *wire.Request) action {
					if does := first(s, r); does.cutAfter || r.Op != wire.OpAcquire {
						return does
					}
					return action{say: refusal(r, code)}
				})
				_, err := c.Acquire(t.Context(), "k")
				matches(t, err, client.ErrRefused, code)
				w.checkIdle("after the refused acquire")
				w.on("", nil)
			})
		})
	}
}

// TestAReleaseThatRacesCloseReachesTheServer: whoever ends a lock gives it back,
// Close or the one who holds it and was just told that the client closes.
func TestAReleaseThatRacesCloseReachesTheServer(t *testing.T) {
	t.Parallel()
	for range 20 {
		play(t, []string{nodeA}, func(t *testing.T, w *world) {
			c := w.client([]string{nodeA})
			var locks []*client.Lock
			for i := range 300 {
				locks = append(locks, w.acquire(c, fmt.Sprint(i), client.WithLease(time.Hour)))
			}
			w.stop(nodeA)
			time.AfterFunc(time.Second, func() { w.start(nodeA) })
			var workers sync.WaitGroup
			for i := range 4 {
				workers.Go(func() {
					_, err := c.Acquire(t.Context(), "one more")
					matches(t, err, client.ErrClosed)
					for j := i; j < len(locks); j += 4 {
						_ = locks[j].Release(t.Context())
					}
				})
			}
			synctest.Wait()
			if err := c.Close(t.Context()); err != nil {
				t.Errorf("closing: %v", err)
			}
			workers.Wait()
			w.checkIdle("after Close")
		})
	}
}

// TestReleasesAreSentAgainThoughTheOldActiveAnswersLate: an answer that it gave
// while it was active is no sign that it is active again.
func TestReleasesAreSentAgainThoughTheOldActiveAnswersLate(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA, nodeB})
		lock := w.acquire(c, "k", client.WithLease(10*time.Minute))
		w.on(nodeA, func(_ *session, r *wire.Request) action {
			switch r.Op {
			case wire.OpRelease:
				return action{say: fmt.Sprintf("R#%d %d k", r.Tag, r.Token)}
			case wire.OpQuery:
				return action{late: 100 * time.Millisecond}
			}
			return action{}
		})
		w.release(lock)
		asked := make(chan error, 1)
		go func() {
			_, err := c.Query(t.Context(), "other")
			asked <- err
		}()
		synctest.Wait()
		w.moveSilently(nodeB)
		w.say(nodeA, fmt.Sprintf("M %s %d", nodeB, w.generation))
		time.Sleep(200 * time.Millisecond)
		if err := <-asked; err != nil {
			t.Errorf("query: %v", err)
		}
		w.say(nodeB, fmt.Sprintf("M %s %d", nodeB, w.generation))
		time.Sleep(4 * time.Second)
		w.checkIdle("after the move")
	})
}

// TestAnOlderActiveCountsAgainBesideAStandby: the node of the greater generation
// is gone for good, and the third one says who is left.
func TestAnOlderActiveCountsAgainBesideAStandby(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB, nodeC}, func(t *testing.T, w *world) {
		w.claim(nodeB, w.generation+10)
		c := w.client([]string{nodeA, nodeB, nodeC})
		w.release(w.acquire(c, "k"))
		w.stop(nodeB)
		untilGranted(t, w, c)
	})
}

// untilGranted tries for as long as anybody would wait for a failover.
func untilGranted(t *testing.T, w *world, c *client.Client) {
	t.Helper()
	for start := time.Now(); time.Since(start) < 2*time.Minute; time.Sleep(time.Second) {
		if lock, err := c.TryAcquire(t.Context(), "k"); err == nil {
			w.release(lock)
			return
		}
	}
	t.Error("nothing was granted in 2 minutes, though one node is active")
}

// TestARumourOfAGreaterGenerationIsForgotten: the node it is about can be reached,
// but is not active and says who is.
func TestARumourOfAGreaterGenerationIsForgotten(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB, nodeC}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA, nodeB, nodeC})
		w.say(nodeC, fmt.Sprintf("M %s %d", nodeB, w.generation+10))
		synctest.Wait()
		untilGranted(t, w, c)
	})
}

// TestAConnectionThatARedirectReplacedIsClosed: nodes behind one name point at
// that name, and none of them closes what it was asked on.
func TestAConnectionThatARedirectReplacedIsClosed(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		for range 20 {
			first := times(1, wire.OpQuery, action{twice: true})
			w.on(nodeA, func(s *session, r *wire.Request) action {
				if !first(s, r).twice {
					return action{}
				}
				return action{say: fmt.Sprintf("M#%d %s Q k", r.Tag, nodeA)}
			})
			if _, err := c.Query(t.Context(), "k"); err != nil {
				t.Errorf("query: %v", err)
			}
		}
		time.Sleep(time.Minute)
		if n := len(w.open(nodeA)); n > 2 {
			t.Errorf("%d connections are open, want 2", n)
		}
	})
}

// TestHugePingTimesDoNotOverflow: whoever wants no pings writes the longest time.
func TestHugePingTimesDoNotOverflow(t *testing.T) {
	t.Parallel()
	const longest = time.Duration(1<<63 - 1)
	t.Run("interval", func(t *testing.T) {
		play(t, []string{nodeA}, func(t *testing.T, w *world) {
			w.leaves, w.history.maxSilence = true, time.Hour
			w.client([]string{nodeA}, client.WithPing(longest, time.Second))
			time.Sleep(time.Second)
			w.on(nodeA, func(s *session, r *wire.Request) action {
				if r.Op != wire.OpPing {
					return action{}
				}
				t.Error("a ping came")
				w.set(nodeA, refuses)
				return action{cutBefore: true}
			})
			w.reset(nodeA)
			time.Sleep(10 * time.Second)
		})
	})
	t.Run("timeout", func(t *testing.T) {
		play(t, []string{nodeA}, func(t *testing.T, w *world) {
			w.trouble(func(l *link) { l.up.trouble.delay = time.Millisecond })
			c := w.client([]string{nodeA}, client.WithPing(time.Hour, longest))
			time.Sleep(time.Second)
			lock, err := c.TryAcquire(t.Context(), "k")
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			w.release(lock)
		})
	})
}
