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

func TestALockIsRenewedAtAThirdOfItsLease(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{30 * time.Second, 300 * time.Millisecond, 3 * time.Millisecond} {
		t.Run(lease.String(), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c, start := w.client([]string{nodeA}), time.Now()
				lock := w.acquire(c, "k", client.WithLease(lease))
				time.Sleep(10 * lease)
				kept := w.requests(wire.OpKeep)
				if lock.Err() != nil || len(kept) < 28 || len(kept) > 31 {
					t.Errorf("%d renewals in 10 leases, the lock says %v", len(kept), lock.Err())
				}
				if first := kept[0].at.Sub(start); first != lease/3 || kept[0].Lease != lease {
					t.Errorf("the first renewal, %q, comes after %s", kept[0].line, first)
				}
				if end := lock.Deadline(); end.Before(time.Now().Add(lease*3/5)) || end.After(time.Now().Add(lease)) {
					t.Errorf("the deadline is in %s", time.Until(end))
				}
				w.release(lock)
			})
		})
	}
}

func TestRenewalEndsWithTheLock(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, lock *client.Lock){
		"release": func(w *world, lock *client.Lock) { w.release(lock) },
		"detach":  func(_ *world, lock *client.Lock) { lock.Detach() },
		"loss": func(w *world, lock *client.Lock) {
			w.let("k")
			<-lock.Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				lock := w.acquire(c, "k", client.WithLease(3*time.Second))
				time.Sleep(1500 * time.Millisecond)
				end(w, lock)
				before := len(w.requests(wire.OpKeep))
				time.Sleep(time.Minute)
				if n := len(w.requests(wire.OpKeep)); n != before {
					t.Errorf("%d renewals after the end", n-before)
				}
				w.checkIdle("after a minute")
			})
		})
	}
}

// TestARenewalInFlightDoesNotOutliveARelease: its answer comes after.
func TestARenewalInFlightDoesNotOutliveARelease(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{0, time.Millisecond, 400 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				w.trouble(func(l *link) { l.up.trouble.delay, l.down.trouble.delay = delay, delay })
				c := w.client([]string{nodeA})
				for range 20 {
					lock := w.acquire(c, "k", client.WithLease(9*time.Second))
					time.Sleep(time.Until(lock.Deadline().Add(-6 * time.Second)))
					w.release(lock)
				}
				time.Sleep(time.Second)
				before := len(w.requests(wire.OpKeep))
				time.Sleep(time.Minute)
				if n := len(w.requests(wire.OpKeep)); n != before {
					t.Errorf("%d renewals after the release", n-before)
				}
			})
		})
	}
}

func TestWithoutRenewalThereIsNone(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c, start := w.client([]string{nodeA}), time.Now()
		lock := w.acquire(c, "k", client.WithLease(6*time.Second), client.WithoutRenewal())
		time.Sleep(5 * time.Second)
		if err := lock.Keep(t.Context(), 10*time.Second); err != nil {
			t.Fatalf("keep: %v", err)
		}
		if want := start.Add(15 * time.Second); !lock.Deadline().Equal(want) {
			t.Errorf("the deadline is %s after the acquire, want 15 s", lock.Deadline().Sub(start))
		}
		<-lock.Done()
		if lasted := time.Since(start); lasted != 15*time.Second {
			t.Errorf("the lock ended after %s", lasted)
		}
		matches(t, lock.Err(), client.ErrLost, client.ErrLeaseOver)
		if n := len(w.requests(wire.OpKeep)); n != 1 {
			t.Errorf("%d renewals, want the one asked for", n)
		}
	})
}

// TestAFailedRenewalIsNotTheLast: later ones go on, whatever failed, and the
// lock is not lost by it.
func TestAFailedRenewalIsNotTheLast(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(r *wire.Request) action{
		"not ready":       func(r *wire.Request) action { return action{say: refusal(r, wire.CodeNotReady)} },
		"denied":          func(r *wire.Request) action { return action{say: refusal(r, wire.CodeDenied)} },
		"bad lease":       func(r *wire.Request) action { return action{say: refusal(r, wire.CodeBadLease)} },
		"no answer":       func(*wire.Request) action { return action{ignore: true} },
		"a cut before":    func(*wire.Request) action { return action{cutBefore: true} },
		"a cut after":     func(*wire.Request) action { return action{cutAfter: true} },
		"a lost answer":   func(*wire.Request) action { return action{drop: true} },
		"a late answer":   func(*wire.Request) action { return action{late: 8 * time.Second} },
		"moved to nobody": func(r *wire.Request) action { return action{say: fmt.Sprintf("M#%d x.test:1 K k", r.Tag)} },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				lock := w.acquire(c, "k")
				first := times(2, wire.OpKeep, action{twice: true})
				w.on("", func(s *session, r *wire.Request) action {
					if first(s, r).twice {
						return fails(r)
					}
					return action{}
				})
				time.Sleep(5 * time.Minute)
				if lock.Err() != nil {
					t.Errorf("the lock ended: %v", lock.Err())
				}
				w.release(lock)
			})
		})
	}
}

func refusal(r *wire.Request, code wire.Code) string {
	return line(&wire.Reply{Kind: wire.KindError, Tag: r.Tag, Op: r.Op, Code: code, Key: r.Key})
}

func TestARenewalRefusedIsALoss(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprint("taken ", taken), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c, start := w.client([]string{nodeA}), time.Now()
				lock := w.acquire(c, "k")
				w.let("k")
				if taken {
					w.hold("k", time.Hour)
				}
				<-lock.Done()
				if lasted := time.Since(start); lasted != 10*time.Second {
					t.Errorf("the loss was noticed after %s, want the first renewal", lasted)
				}
				matches(t, lock.Err(), client.ErrLost, client.ErrNotHeld)
				matches(t, context.Cause(lock.Context()), client.ErrLost)
				if errors.Is(lock.Err(), client.ErrTaken) != taken {
					t.Errorf("taken is %t, the lock says %v", taken, lock.Err())
				}
				var lost *client.LostError
				if !errors.As(lock.Err(), &lost) || lost.Key != "k" || lost.Token != lock.Token() {
					t.Errorf("%#v does not say which lock", lock.Err())
				}
				if taken {
					w.let("k")
				}
			})
		})
	}
}

// TestAnIsolatedHolderLearnsOfItsLossByItsOwnClock: at the very end of the lease
// as far as renewals were answered.
func TestAnIsolatedHolderLearnsOfItsLossByItsOwnClock(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 5 * time.Second, 10 * time.Second, 25 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c, start := w.client([]string{nodeA}), time.Now()
				lock := w.acquire(c, "k")
				time.Sleep(after + time.Millisecond)
				w.vanish(nodeA)
				deadline := lock.Deadline()
				<-lock.Done()
				renewed := after / (10 * time.Second) * (10 * time.Second)
				if want := start.Add(renewed + 30*time.Second); !time.Now().Equal(want) || !deadline.Equal(want) {
					t.Errorf("lost %s after the acquire, deadline %s", time.Since(start), deadline.Sub(start))
				}
				matches(t, lock.Err(), client.ErrLost, client.ErrLeaseOver)
				matches(t, context.Cause(lock.Context()), client.ErrLost)
				matches(t, lock.Context().Err(), context.Canceled)
			})
		})
	}
}

// TestTheDeadlineCountsFromTheQuestion: the server set the lease at some time
// between question and answer.
func TestTheDeadlineCountsFromTheQuestion(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.on("", func(_ *session, r *wire.Request) action {
			if r.Op == wire.OpKeep || r.Op == wire.OpAcquire {
				return action{late: 900 * time.Millisecond}
			}
			return action{}
		})
		c, start := w.client([]string{nodeA}), time.Now()
		lock := w.acquire(c, "k", client.WithLease(12*time.Second))
		if got := lock.Deadline().Sub(start); got > 12*time.Second {
			t.Errorf("the deadline is %s after the question, the lease 12 s", got)
		}
		for range 20 {
			time.Sleep(777 * time.Millisecond)
			w.locked(func() {
				if end := w.table.locks["k"].end; lock.Deadline().After(end) {
					t.Errorf("the client counts on %s more than the server", lock.Deadline().Sub(end))
				}
			})
		}
		w.release(lock)
	})
}

// TestALateGrantDoesNotOutliveItsLease: the key was held by others, so only the
// server knows when the lease began; the client must not count on more.
func TestALateGrantDoesNotOutliveItsLease(t *testing.T) {
	t.Parallel()
	for _, renewal := range [][]client.LockOption{nil, {client.WithoutRenewal()}} {
		t.Run(fmt.Sprint(len(renewal)), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				w.hold("k", time.Hour)
				got := w.acquireLater(t.Context(), c, "k", renewal...)
				time.Sleep(11 * time.Second)
				for _, l := range w.open(nodeA) {
					l.down.slow(4 * time.Second)
				}
				w.let("k")
				time.AfterFunc(5*time.Second, func() { w.vanish(nodeA) })
				lock := w.granted(got)
				time.Sleep(20 * time.Second)
				var end time.Time
				w.locked(func() { end = w.table.locks["k"].end })
				<-lock.Done()
				if time.Now().After(end) {
					t.Errorf("the client holds the lock %s longer than the server", time.Since(end))
				}
			})
		})
	}
}

// TestASlowServerIsNoLoss: as long as it answers within the time of a ping.
func TestASlowServerIsNoLoss(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{900 * time.Millisecond, 1500 * time.Millisecond, 4 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				w.on("", func(_ *session, r *wire.Request) action {
					return action{late: late}
				})
				c := w.client([]string{nodeA})
				lock := w.acquire(c, "k")
				time.Sleep(5 * time.Minute)
				if lock.Err() != nil {
					t.Errorf("the lock ended: %v", lock.Err())
				}
				if _, err := c.Query(t.Context(), "k"); err != nil {
					t.Errorf("%v", err)
				}
				w.release(lock)
			})
		})
	}
}

// TestALockDeadOnArrivalIsLost: its lease ran out before the grant arrived.
func TestALockDeadOnArrivalIsLost(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.on("", once(wire.OpAcquire, action{late: 2 * time.Second}))
		c := w.client([]string{nodeA})
		lock, err := c.Acquire(t.Context(), "k", client.WithLease(time.Second), client.WithWait(time.Hour))
		if err == nil {
			synctest.Wait()
			token, _ := w.holder("k")
			if lock.Err() == nil && token != lock.Token() {
				t.Errorf("the lock says it is held, the server says %d", token)
			}
			_ = lock.Release(t.Context())
		}
	})
}

func TestHoldersSurviveARestart(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		var locks []*client.Lock
		for i := range 20 {
			locks = append(locks, w.acquire(c, fmt.Sprint(i)))
			time.Sleep(time.Second)
		}
		w.stop(nodeA)
		time.Sleep(12 * time.Second)
		w.start(nodeA)
		time.Sleep(time.Minute)
		for _, lock := range locks {
			if lock.Err() != nil {
				t.Errorf("%v", lock.Err())
			}
			w.release(lock)
		}
	})
}

func TestReleasingALostLockSaysSo(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k", client.WithLease(time.Second), client.WithoutRenewal())
		<-lock.Done()
		other := w.acquire(c, "k")
		err := lock.Release(t.Context())
		if !errors.Is(err, client.ErrLost) && !errors.Is(err, client.ErrNotHeld) {
			t.Errorf("releasing a lost lock: %v", err)
		}
		if other.Err() != nil {
			t.Errorf("the next holder lost its lock: %v", other.Err())
		}
		w.release(other)
	})
}
