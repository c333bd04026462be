package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

func TestUnavailableSaysWhatEachAddressSaid(t *testing.T) {
	t.Parallel()
	addrs := []string{nodeA, nodeB, "nowhere.test:1"}
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		w.set(nodeA, refuses)
		w.set(nodeB, mute)
		c := w.client(addrs, client.WithDialTimeout(time.Second))
		time.Sleep(2 * time.Second)
		_, err := c.Acquire(t.Context(), "k")
		matches(t, err, client.ErrUnavailable, syscall.ECONNREFUSED, errNoSuchHost)
		var unavailable *client.UnavailableError
		if !errors.As(err, &unavailable) || len(unavailable.Addrs) != 3 {
			t.Fatalf("%v does not name three addresses", err)
		}
		for i, addr := range addrs {
			if unavailable.Addrs[i].Addr != addr || !strings.Contains(err.Error(), addr) {
				t.Errorf("address %d is %s, want %s, in %q", i, unavailable.Addrs[i].Addr, addr, err)
			}
		}
	})
}

// TestUnavailableTakesItsTime: 5 s by default, which spans a restart, and not
// much more.
func TestUnavailableTakesItsTime(t *testing.T) {
	t.Parallel()
	for after, most := range map[time.Duration]time.Duration{
		client.DefaultUnavailableAfter: 6 * time.Second,
		20 * time.Second:               21 * time.Second,
		time.Millisecond:               5 * time.Second,
		0:                              5 * time.Second,
	} {
		for name, call := range calls() {
			t.Run(fmt.Sprint(after, " ", name), func(t *testing.T) {
				play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
					c := w.client([]string{nodeA, nodeB}, client.WithUnavailableAfter(after))
					w.stop(nodeA)
					w.stop(nodeB)
					time.Sleep(100 * time.Millisecond)
					tries, start := len(w.dialled()), time.Now()
					err := call(t.Context(), c)
					waited := time.Since(start)
					matches(t, err, client.ErrUnavailable, syscall.ECONNREFUSED)
					if waited < after || waited > most {
						t.Errorf("it took %s", waited)
					}
					if n := len(w.dialled()) - tries; n < 2 {
						t.Errorf("%d tries, want at least one for each address", n)
					}
				})
			})
		}
	}
}

// calls are the calls that look for a server as long as they were told.
func calls() map[string]func(context.Context, *client.Client) error {
	return map[string]func(context.Context, *client.Client) error{
		"acquire": func(ctx context.Context, c *client.Client) error {
			_, err := c.Acquire(ctx, "k")
			return err
		},
		"try": func(ctx context.Context, c *client.Client) error {
			_, err := c.TryAcquire(ctx, "k")
			return err
		},
		"query": func(ctx context.Context, c *client.Client) error {
			_, err := c.Query(ctx, "k")
			return err
		},
		"keep": func(ctx context.Context, c *client.Client) error {
			return c.Keep(ctx, "k", 5, time.Second)
		},
	}
}

func (n *fakeNet) dialled() []dialed {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]dialed(nil), n.dials...)
}

func TestACallSpansARestart(t *testing.T) {
	t.Parallel()
	for name, call := range calls() {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA})
				w.history.strangers = true
				w.stop(nodeA)
				time.AfterFunc(4*time.Second, func() { w.start(nodeA) })
				if err := call(t.Context(), c); err != nil && !errors.Is(err, client.ErrNotHeld) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestAWaitingAcquireThatLosesEveryNodeEnds: in ErrUnavailable, though its
// context and its wait would last.
func TestAWaitingAcquireThatLosesEveryNodeEnds(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w *world, addr string){
		"stopped": func(w *world, addr string) { w.stop(addr) },
		"vanished": func(w *world, addr string) {
			w.vanish(addr)
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
				c := w.client([]string{nodeA, nodeB})
				w.hold("k", time.Hour)
				got := w.acquireLater(t.Context(), c, "k")
				start := time.Now()
				lose(w, nodeA)
				lose(w, nodeB)
				r := await(t, got)
				matches(t, r.err, client.ErrUnavailable)
				if took := r.at.Sub(start); took > 25*time.Second {
					t.Errorf("it took %s", took)
				}
				time.Sleep(20 * time.Second)
				if _, waiters := w.holder("k"); waiters != 0 {
					t.Errorf("%d wait after the grace", waiters)
				}
				w.let("k")
			})
		})
	}
}

func TestAContextThatEndsWithoutAServerSaysBoth(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.stop(nodeA)
		for name, call := range calls() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := call(ctx, c)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, client.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAServerThatIsNeverReadyIsNotAskedTooOften(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		w.moveSilently("")
		c := w.client([]string{nodeA, nodeB})
		_, err := c.Acquire(t.Context(), "k")
		matches(t, err, client.ErrUnavailable)
		if n := len(w.requests(wire.OpAcquire)); n < 2 || n > 60 {
			t.Errorf("it asked %d times in 5 s", n)
		}
	})
}

func TestADialThatHangsDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		w.set(nodeA, hangs)
		w.moveSilently(nodeB)
		start := time.Now()
		c := w.client([]string{nodeA, nodeB})
		w.release(w.acquire(c, "k"))
		if waited := time.Since(start); waited > time.Second {
			t.Errorf("it took %s", waited)
		}
	})
}
