package client_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

func TestASingleAddressHasTwoConnections(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.client([]string{nodeA})
		if n := len(w.open(nodeA)); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
		time.Sleep(time.Minute)
		if dials := w.dialsTo(nodeA); len(dials) != 2 {
			t.Errorf("%d dials, want 2", len(dials))
		}
	})
}

func TestSeveralAddressesHaveOneConnectionEach(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB, nodeC}, func(t *testing.T, w *world) {
		w.client([]string{nodeA, nodeB, nodeC})
		time.Sleep(time.Minute)
		for _, addr := range []string{nodeA, nodeB, nodeC} {
			if n := len(w.open(addr)); n != 1 {
				t.Errorf("%d connections to %s, want 1", n, addr)
			}
		}
	})
}

func TestConnectionsAreChosenRoundRobin(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		for range 10 {
			w.release(w.acquire(c, "k"))
		}
		if used := perLink(w.requests(0)); used[0] != 10 || used[1] != 10 {
			t.Errorf("requests by connection: %v, want 10 each", used)
		}
	})
}

// perLink counts the requests about keys on each connection.
func perLink(requests []asked) map[int]int {
	used := make(map[int]int)
	for _, a := range requests {
		if len(a.Key) > 0 {
			used[a.s.link.index]++
		}
	}
	return used
}

func TestADroppedConnectionIsLeftOutAndComesBack(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		c := w.client([]string{nodeA})
		w.set(nodeA, refuses)
		w.link(0).reset()
		for range 10 {
			w.release(w.acquire(c, "k"))
		}
		if used := perLink(w.requests(0)); used[0] != 0 || used[1] != 20 {
			t.Errorf("requests by connection: %v, want all on the second", used)
		}
		w.set(nodeA, accepts)
		time.Sleep(4 * time.Second)
		for range 10 {
			w.release(w.acquire(c, "k"))
		}
		if used := perLink(w.requests(0)); used[1] != 30 || used[2] != 10 {
			t.Errorf("requests by connection: %v, want half of the last 20 on the third", used)
		}
	})
}

// near reports whether a redial keeps to the interval: 3 s, give or take a fifth.
func near(interval time.Duration) bool {
	return interval >= 2400*time.Millisecond && interval <= 3600*time.Millisecond
}

func TestADroppedConnectionIsRedialledAtOnceAndThenEvery3Seconds(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		w.client([]string{nodeA, nodeB})
		time.Sleep(time.Minute)
		dropped, before := time.Now(), len(w.dialsTo(nodeB))
		w.stop(nodeB)
		time.Sleep(time.Minute)
		dials := w.dialsTo(nodeB)[before:]
		if len(dials) < 16 || !dials[0].Equal(dropped) {
			t.Fatalf("%d dials in a minute, the first %s after the drop", len(dials), dials[0].Sub(dropped))
		}
		for i := 1; i < len(dials); i++ {
			if interval := dials[i].Sub(dials[i-1]); !near(interval) {
				t.Errorf("dial %d came %s after the one before", i, interval)
			}
		}
		w.start(nodeB)
		time.Sleep(4 * time.Second)
		if n := len(w.open(nodeB)); n != 1 {
			t.Errorf("%d connections after the restart, want 1", n)
		}
	})
}

func TestClientsDoNotComeBackInTheSameInstant(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		for range 100 {
			w.client([]string{nodeA, nodeB})
		}
		w.stop(nodeB)
		synctest.Wait()
		before := len(w.dialsTo(nodeB))
		time.Sleep(4 * time.Second)
		buckets := make(map[time.Time]int)
		for _, at := range w.dialsTo(nodeB)[before:] {
			buckets[at.Truncate(100*time.Millisecond)]++
		}
		for at, n := range buckets {
			if n > 30 {
				t.Errorf("%d of 100 clients come back within 100 ms at %s", n, at.Format("05.0"))
			}
		}
		if len(buckets) < 6 {
			t.Errorf("all clients come back within %d tenths of a second", len(buckets))
		}
	})
}

// TestAServerThatEndsEveryConnectionIsNotStormed: neither with dials nor in the
// log.
func TestAServerThatEndsEveryConnectionIsNotStormed(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]wire.Op{"before the greeting": wire.OpHello, "after the greeting": 0} {
		t.Run(name, func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				var lines atomic.Int64
				w.endsConnections(op == 0)
				w.client([]string{nodeA}, client.WithLogger(countingLogger(&lines)))
				time.Sleep(time.Minute)
				if n := len(w.dialsTo(nodeA)); n < 30 || n > 100 {
					t.Errorf("%d dials in a minute for two connections", n)
				}
				if n := lines.Load(); n > 400 {
					t.Errorf("%d log lines in a minute", n)
				}
			})
		})
	}
}

// endsConnections has every connection to nodeA end, before or right after H is
// answered. So that a client that redials without a pause ends too, there is a
// limit.
func (w *world) endsConnections(afterHello bool) {
	w.trouble(func(l *link) {
		if l.index > 2000 {
			w.set(nodeA, hangs)
		}
		if !afterHello {
			l.up.trouble.cutAt = 1
		}
	})
	w.locked(func() {
		n := w.nodes[nodeA]
		n.greeting = func(_ *session, r *wire.Request) (string, bool) { return line(n.helloReply(r)), false }
	})
}

func TestAHalfOpenConnectionIsFound(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.client([]string{nodeA})
		w.link(0).vanish()
		time.Sleep(client.DefaultPingInterval + client.DefaultPingTimeout + time.Second)
		if !w.link(0).client.isClosed() {
			t.Error("the half-open connection was not closed")
		}
		if n := len(w.open(nodeA)); n != 2 || w.link(1).client.isClosed() {
			t.Errorf("%d connections, want the good one and a new one", n)
		}
	})
}

func TestPingsComeAtTheIntervalAskedFor(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.client([]string{nodeA}, client.WithPing(200*time.Millisecond, 300*time.Millisecond))
		time.Sleep(10 * time.Second)
		if n := len(w.requests(wire.OpPing)); n < 90 || n > 102 {
			t.Errorf("%d pings in 10 s on two connections at 200 ms", n)
		}
		w.link(0).vanish()
		time.Sleep(501 * time.Millisecond)
		if !w.link(0).client.isClosed() {
			t.Error("the half-open connection was not closed after interval and timeout")
		}
	})
}

func TestASlowNetworkIsNotTakenForADeadOne(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.trouble(func(l *link) { l.up.trouble.delay, l.down.trouble.delay = 200*time.Millisecond, 200*time.Millisecond })
		c := w.client([]string{nodeA})
		w.release(w.acquire(c, "k"))
		time.Sleep(time.Minute)
		if n := len(w.dialsTo(nodeA)); n != 2 {
			t.Errorf("%d dials, want 2", n)
		}
	})
}

func TestANumberInUseIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		left := atomic.Int64{}
		left.Store(3)
		w.locked(func() {
			n := w.nodes[nodeA]
			n.greeting = func(s *session, r *wire.Request) (string, bool) {
				if left.Add(-1) < 0 {
					return line(n.helloReply(r)), true
				}
				s.client, s.refused = "", true
				return "E H client-in-use -", true
			}
		})
		c := w.client([]string{nodeA})
		w.release(w.acquire(c, "k"))
		time.Sleep(10 * time.Second)
		if n := len(w.open(nodeA)); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})
}

func TestAServerThatIsFullIsNamedInTheError(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		full := atomic.Bool{}
		full.Store(true)
		w.locked(func() {
			n := w.nodes[nodeA]
			n.greeting = func(_ *session, r *wire.Request) (string, bool) {
				if !full.Load() {
					return line(n.helloReply(r)), true
				}
				return "E malformed too many connections; try again later", false
			}
		})
		c := w.client([]string{nodeA})
		_, err := c.Acquire(t.Context(), "k")
		matches(t, err, client.ErrUnavailable)
		if !strings.Contains(fmt.Sprint(err), "too many connections") {
			t.Errorf("%v does not say why", err)
		}
		full.Store(false)
		w.release(w.acquire(c, "k"))
	})
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		net := newFakeNet()
		for _, addrs := range [][]string{nil, {}, {""}, {"a.test"}, {"a.test:7301", ""}, {"unix/"}, {"a b:1:2"}} {
			if c, err := client.New(addrs, client.WithDialer(net.dial)); err == nil {
				t.Errorf("%q is accepted", addrs)
				_ = c.Close(t.Context())
			}
		}
		for what, opt := range map[string]client.Option{
			"TLS": client.WithTLS(nil), "dialer": client.WithDialer(nil), "logger": client.WithLogger(nil),
			"ping": client.WithPing(0, time.Second), "dial timeout": client.WithDialTimeout(0),
			"unavailable": client.WithUnavailableAfter(-1),
		} {
			if c, err := client.New([]string{nodeA}, client.WithDialer(net.dial), opt); err == nil {
				t.Errorf("a bad %s is accepted", what)
				_ = c.Close(t.Context())
			}
		}
	})
}

func TestASocketIsDialledByItsPath(t *testing.T) {
	t.Parallel()
	play(t, []string{"/run/lock.sock"}, func(t *testing.T, w *world) {
		w.locked(func() { w.active = "unix//run/lock.sock"; w.nodes["/run/lock.sock"].addr = w.active })
		c := w.client([]string{"unix//run/lock.sock"})
		w.release(w.acquire(c, "k"))
		if d := w.dialled()[0]; d.network != "unix" {
			t.Errorf("dialled by %s %s", d.network, d.addr)
		}
	})
}
