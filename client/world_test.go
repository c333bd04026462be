package client_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/client"
)

// Addresses of the tests.
const (
	nodeA = "a.test:7301"
	nodeB = "b.test:7301"
	nodeC = "c.test:7301"
)

// world is a network, a cluster and the clients of one test, all in virtual
// time.
type world struct {
	t *testing.T
	*fakeNet
	*cluster
	mu      sync.Mutex
	clients []*client.Client
	// leaves: the test leaves something locked on purpose.
	leaves bool
}

// play runs a test in a bubble of virtual time with a node at each address. When
// it ends, the clients are closed, and nothing may be held, waited for, open or
// running any more: a goroutine that is left fails the bubble.
func play(t *testing.T, addrs []string, script func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		net := newFakeNet()
		w := &world{t: t, fakeNet: net, cluster: newCluster(t, net, addrs...)}
		defer w.end()
		script(t, w)
	})
}

// end closes everything and looks at what is left.
func (w *world) end() {
	if !w.leaves && w.acceptAll() {
		time.Sleep(30 * time.Second)
	}
	w.closeClients()
	synctest.Wait()
	if left := w.idle(); left != "" && !w.leaves {
		w.t.Errorf("left behind:\n%s", left)
	}
	w.checkClosed(w.t)
	w.shutDown()
	if w.t.Failed() {
		w.locked(w.history.print)
	}
}

func (w *world) closeClients() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	w.mu.Lock()
	clients := w.clients
	w.mu.Unlock()
	for _, c := range clients {
		if err := c.Close(ctx); err != nil && !errors.Is(err, client.ErrClosed) && !w.leaves {
			w.t.Errorf("closing a client: %v", err)
		}
	}
}

// client starts a client of the addresses and waits until it has settled.
func (w *world) client(addrs []string, opts ...client.Option) *client.Client {
	w.t.Helper()
	c, err := client.New(addrs, append([]client.Option{client.WithDialer(w.dial)}, opts...)...)
	if err != nil {
		w.t.Fatalf("starting a client: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients = append(w.clients, c)
	synctest.Wait()
	return c
}

// checkIdle fails the test if anything is held or waited for.
func (w *world) checkIdle(when string) {
	w.t.Helper()
	synctest.Wait()
	if left := w.idle(); left != "" {
		w.t.Errorf("%s there is\n%s", when, left)
	}
}

// acquire must succeed.
func (w *world) acquire(c *client.Client, key string, opts ...client.LockOption) *client.Lock {
	w.t.Helper()
	lock, err := c.Acquire(w.t.Context(), key, opts...)
	if err != nil {
		w.t.Fatalf("acquiring %q: %v", key, err)
	}
	return lock
}

// release must succeed.
func (w *world) release(lock *client.Lock) {
	w.t.Helper()
	if err := lock.Release(w.t.Context()); err != nil {
		w.t.Errorf("releasing %q: %v", lock.Key(), err)
	}
}

// result is what a call in the background has returned.
type result struct {
	lock *client.Lock
	err  error
	at   time.Time
}

// acquireLater acquires in the background; the channel gets the result.
func (w *world) acquireLater(ctx context.Context, c *client.Client, key string, opts ...client.LockOption) <-chan result {
	got := make(chan result, 1)
	go func() {
		lock, err := c.Acquire(ctx, key, opts...)
		got <- result{lock, err, time.Now()}
	}()
	synctest.Wait()
	return got
}

// granted waits for a grant.
func (w *world) granted(got <-chan result) *client.Lock {
	w.t.Helper()
	r := await(w.t, got)
	if r.err != nil {
		w.t.Fatalf("acquire in the background: %v", r.err)
	}
	return r.lock
}

// await waits for a result, but not for ever: time would pass without an end.
func await(t *testing.T, got <-chan result) result {
	t.Helper()
	select {
	case r := <-got:
		return r
	case <-time.After(2 * time.Hour):
		t.Fatal("the acquire in the background never ends")
		return result{}
	}
}

// pending fails the test if the result is there already.
func pending(t *testing.T, got <-chan result) {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-got:
		t.Fatalf("the acquire has ended: %v", r.err)
	default:
	}
}

// matches fails the test unless the error is what it has to be.
func matches(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("error is %v, want one that matches %q", err, target)
		}
	}
}
