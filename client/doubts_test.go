package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// TestAnOvertakenKeepDoesNotOutliveItsLease: a keep that asked for less is still
// on its way, on another connection, when a later one is answered.
func TestAnOvertakenKeepDoesNotOutliveItsLease(t *testing.T) {
	t.Parallel()
	for slow := range 2 {
		t.Run(fmt.Sprint("connection ", slow), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				lock := w.acquire(c, "k", client.WithLease(time.Minute), client.WithoutRenewal())
				w.link(slow).up.slow(3 * time.Second)
				keep(t, lock, 5*time.Second)
				go func() { _, _ = c.Query(t.Context(), "other") }()
				synctest.Wait()
				keep(t, lock, time.Minute)
				for range 30 {
					time.Sleep(500 * time.Millisecond)
					if token, _ := w.holder("k"); lock.Err() == nil && token != lock.Token() {
						t.Fatalf("the lock counts on %s more, and the server has ended it", time.Until(lock.Deadline()))
					}
				}
				w.release(lock)
			})
		})
	}
}

func keep(t *testing.T, lock *client.Lock, lease time.Duration) {
	t.Helper()
	if err := lock.Keep(t.Context(), lease); err != nil {
		t.Fatalf("keep for %s: %v", lease, err)
	}
}

// TestARenewalThatWaitedForAKeepIsForItsLease: and not for the one before, which was
// right when the renewal was due.
func TestARenewalThatWaitedForAKeepIsForItsLease(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		lock := w.acquire(c, "k", client.WithLease(9*time.Second))
		w.on("", once(wire.OpKeep, action{late: 400 * time.Millisecond}))
		time.Sleep(2800 * time.Millisecond)
		keep(t, lock, time.Hour)
		time.Sleep(time.Minute)
		if left := time.Until(lock.Deadline()); left < 50*time.Minute {
			t.Errorf("a minute after it was kept for an hour the lock has %s left", left)
		}
		w.release(lock)
	})
}

// TestATryThatIsAnsweredLateIsNotHeldLonger: nobody was waited for, so the lease
// began when the question was sent, at the earliest.
func TestATryThatIsAnsweredLateIsNotHeldLonger(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		for _, l := range w.open(nodeA) {
			l.down.slow(2 * time.Second)
		}
		lock, err := c.TryAcquire(t.Context(), "k", client.WithLease(1500*time.Millisecond))
		if err != nil {
			t.Fatalf("acquire: %v", err)
		}
		if token, _ := w.holder("k"); token == 0 && lock.Err() == nil {
			t.Errorf("the lock counts on %s more, and the server has ended it", time.Until(lock.Deadline()))
		}
		_ = lock.Release(t.Context())
	})
}

// TestALockHasEndedAtItsDeadline: whoever asks then is told, also before the timer
// has had its turn.
func TestALockHasEndedAtItsDeadline(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		held := 0
		for range 200 {
			lock := w.acquire(c, "k", client.WithLease(time.Second), client.WithoutRenewal())
			time.Sleep(time.Until(lock.Deadline()))
			if lock.Err() == nil {
				held++
			}
			_ = lock.Release(t.Context())
		}
		if held > 0 {
			t.Errorf("%d of 200 locks say at their deadline that they are held", held)
		}
	})
}

// askingHandler asks the client for its counters with each log line, as one that
// adds them to the line would.
type askingHandler struct {
	countingHandler
	client *atomic.Pointer[client.Client]
}

func (h askingHandler) Handle(ctx context.Context, r slog.Record) error {
	if c := h.client.Load(); c != nil {
		_ = c.Stats()
	}
	return h.countingHandler.Handle(ctx, r)
}

// TestALogHandlerMayUseTheClient: no lock of the client is held meanwhile. In
// real time, for a mutex does not let virtual time pass.
func TestALogHandlerMayUseTheClient(t *testing.T) {
	t.Parallel()
	var lines atomic.Int64
	h := askingHandler{countingHandler{&lines}, new(atomic.Pointer[client.Client])}
	ready := make(chan struct{})
	refuse := func(context.Context, string, string) (net.Conn, error) {
		<-ready
		return nil, errors.New("nobody listens")
	}
	c, err := client.New([]string{nodeA}, client.WithDialer(refuse), client.WithLogger(slog.New(h)), client.WithUnavailableAfter(0))
	if err != nil {
		t.Fatal(err)
	}
	h.client.Store(c)
	close(ready)
	asked := make(chan error, 1)
	go func() {
		_, err := c.Query(t.Context(), "k")
		asked <- err
	}()
	select {
	case err := <-asked:
		matches(t, err, client.ErrUnavailable)
		_ = c.Close(t.Context())
	case <-time.After(5 * time.Second):
		t.Error("the client is stuck in its own log handler")
	}
}

// TestARenewalThatIsRefusedIsNotAskedWithoutEnd: the server's max_lease may have
// become shorter; asking five times a second for a day does not change that.
func TestARenewalThatIsRefusedIsNotAskedWithoutEnd(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		var lines atomic.Int64
		c := w.client([]string{nodeA}, client.WithLogger(countingLogger(&lines)))
		lock := w.acquire(c, "k", client.WithLease(time.Hour))
		w.on("", func(_ *session, r *wire.Request) action {
			if r.Op == wire.OpKeep {
				return action{say: refusal(r, wire.CodeBadLease)}
			}
			return action{}
		})
		time.Sleep(50 * time.Minute)
		if n := len(w.requests(wire.OpKeep)); n > 1000 {
			t.Errorf("%d renewals were asked for and %d lines logged in 50 minutes", n, lines.Load())
		}
		w.release(lock)
	})
}

// endedConn is a connection whose reads end in what a context's end left behind,
// as some adapters of other transports do.
type endedConn struct{ net.Conn }

func (c endedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		err = errors.Join(err, context.Canceled)
	}
	return n, err
}

// TestAConnectionsErrorIsNotTheCallers: whoever asks with a live context is never
// told that it ended.
func TestAConnectionsErrorIsNotTheCallers(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := w.dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return endedConn{conn}, nil
		}
		c := w.client([]string{nodeA}, client.WithDialer(dial), client.WithUnavailableAfter(0))
		w.on("", func(_ *session, r *wire.Request) action {
			return action{cutBefore: len(r.Key) > 0}
		})
		_, err := c.Query(t.Context(), "k")
		matches(t, err, client.ErrUnavailable)
		if errors.Is(err, context.Canceled) {
			t.Errorf("the context did not end, the error says so: %v", err)
		}
		w.on("", nil)
	})
}

// TestNothingRunsAfterClose: also after one whose time was over. Alone, for it looks
// at all goroutines there are.
func TestNothingRunsAfterClose(t *testing.T) {
	for range 10 {
		play(t, []string{nodeA}, func(t *testing.T, w *world) {
			w.leaves = true
			c := w.client([]string{nodeA})
			for i := range 300 {
				w.acquire(c, fmt.Sprint(i))
			}
			w.vanish(nodeA)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_ = c.Close(ctx)
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			if n := strings.Count(string(stacks), "client.(*Client).background"); n > 0 {
				t.Errorf("goroutines of the client run after Close: %d frames", n)
			}
		})
	}
}
