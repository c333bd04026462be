package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

func TestAReleaseWithACancelledContextReachesTheServer(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := lock.Release(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("releasing: %v", err)
		}
		w.checkIdle("after the release")
	})
}

// TestAReleaseWithACancelledContextIsRetried: also if the first try is lost.
func TestAReleaseWithACancelledContextIsRetried(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k")
		w.stop(nodeA)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		_ = lock.Release(ctx)
		if waited := time.Since(start); waited > 5*time.Second {
			t.Errorf("it took %s", waited)
		}
		time.Sleep(time.Second)
		w.start(nodeA)
		time.Sleep(4 * time.Second)
		w.checkIdle("after the server came back")
	})
}

func TestAReleaseIsRetriedEvery200ms(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k")
		busy := times(15, wire.OpRelease, action{say: "busy"})
		w.on("", func(s *session, r *wire.Request) action {
			does := busy(s, r)
			if does.say != "" {
				does.say = fmt.Sprintf("E#%d R not-ready k", r.Tag)
			}
			return does
		})
		w.release(lock)
		asked := w.requests(wire.OpRelease)
		if len(asked) != 16 {
			t.Fatalf("%d tries, want 16", len(asked))
		}
		for i := 4; i < len(asked); i++ {
			if pause := asked[i].at.Sub(asked[i-1].at); pause < 150*time.Millisecond || pause > 250*time.Millisecond {
				t.Errorf("try %d came %s after the one before", i, pause)
			}
		}
	})
}

func TestAReleaseIsGivenUpAfter5Seconds(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w *world){
		"stopped": func(w *world) { w.stop(nodeA) },
		"not ready": func(w *world) {
			w.moveSilently("")
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				lock := w.acquire(c, "k", client.WithLease(time.Minute))
				lose(w)
				start := time.Now()
				err := lock.Release(t.Context())
				matches(t, err, client.ErrUnavailable)
				if waited := time.Since(start); waited < 5*time.Second || waited > 7*time.Second {
					t.Errorf("it took %s", waited)
				}
				<-lock.Done()
				time.Sleep(time.Minute)
				w.checkIdle("after the lease")
			})
		})
	}
}

func TestAReleaseSpansARestart(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k")
		w.stop(nodeA)
		time.AfterFunc(4*time.Second, func() { w.start(nodeA) })
		w.release(lock)
		w.checkIdle("after the release")
	})
}

// TestNotHeldOnTheFirstTry: the caller's token holds nothing, and that is told.
func TestNotHeldOnTheFirstTry(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.history.strangers = true
		c := w.client([]string{nodeA})
		release, keep := c.Release(t.Context(), "k", 5), c.Keep(t.Context(), "k", 5, time.Second)
		for _, err := range []error{release, keep} {
			matches(t, err, client.ErrNotHeld)
			if errors.Is(err, client.ErrTaken) {
				t.Errorf("a free key: %v", err)
			}
		}
		token := w.hold("k", time.Minute)
		release, keep = c.Release(t.Context(), "k", 5), c.Keep(t.Context(), "k", 5, time.Second)
		for _, err := range []error{release, keep} {
			matches(t, err, client.ErrTaken, client.ErrNotHeld)
		}
		if err := c.Keep(t.Context(), "k", token, time.Hour); err != nil {
			t.Errorf("keeping by token: %v", err)
		}
		if err := c.Release(t.Context(), "k", token); err != nil {
			t.Errorf("releasing by token: %v", err)
		}
	})
}

// TestNotHeldOnARetryIsReleased: the first try was carried out, its reply lost.
func TestNotHeldOnARetryIsReleased(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprint("taken ", taken), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				lock := w.acquire(c, "k")
				first := once(wire.OpRelease, action{cutAfter: true})
				w.on("", func(s *session, r *wire.Request) action {
					does := first(s, r)
					if taken && r.Op == wire.OpRelease && !does.cutAfter {
						w.hold("k", time.Minute)
					}
					return does
				})
				w.release(lock)
				if n := len(w.requests(wire.OpRelease)); n != 2 {
					t.Errorf("%d releases, want 2", n)
				}
				if taken {
					w.let("k")
				}
			})
		})
	}
}

func TestAReleasedLockIsReleasedOnce(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k")
		w.release(lock)
		again := w.acquire(c, "k")
		_ = lock.Release(t.Context())
		_ = lock.Keep(t.Context(), time.Hour)
		if token, _ := w.holder("k"); token != again.Token() || again.Err() != nil {
			t.Errorf("the second release gave back the next holder's lock: %d, %v", token, again.Err())
		}
		w.release(again)
	})
}

func TestReleaseFromManyGoroutinesIsOneRelease(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k")
		for range 20 {
			go func() { _ = lock.Release(t.Context()) }()
		}
		synctest.Wait()
		<-lock.Done()
		w.checkIdle("after the releases")
	})
}

// TestReleasesAreSentAgainWhenTheActiveMoves: the one before may have taken the
// answer with it.
func TestReleasesAreSentAgainWhenTheActiveMoves(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(w *world){
		"by notice": func(w *world) { w.move(nodeB) },
		"by a crash": func(w *world) {
			w.moveSilently(nodeB)
			w.stop(nodeA)
			w.reset(nodeB)
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA, nodeB})
				lock := w.acquire(c, "k", client.WithLease(10*time.Minute))
				w.on(nodeA, func(_ *session, r *wire.Request) action {
					if r.Op == wire.OpRelease {
						return action{say: fmt.Sprintf("R#%d %d k", r.Tag, r.Token)}
					}
					return action{}
				})
				w.release(lock)
				time.Sleep(3 * time.Second)
				if token, _ := w.holder("k"); token != lock.Token() {
					t.Fatal("the release was carried out")
				}
				move(w)
				time.Sleep(4 * time.Second)
				w.checkIdle("after the move")
			})
		})
	}
}

func TestOldReleasesAreNotSentAgain(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA, nodeB})
		for i := range 100 {
			w.release(w.acquire(c, fmt.Sprint(i)))
		}
		time.Sleep(time.Minute)
		w.move(nodeB)
		time.Sleep(time.Minute)
		if n := len(w.requests(wire.OpRelease)); n != 100 {
			t.Errorf("%d releases were sent, want 100", n)
		}
	})
}
