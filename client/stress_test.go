package client_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

var stormSeed = flag.Uint64("storm", 0, "the seed of TestNothingIsLeftAndNobodyHoldsTwice; 0 for some at random")

// storm is many goroutines on a client over a network on which everything goes
// wrong. Whatever happens, a call ends in what its documentation says, no two
// hold a key, and nothing is left in the end.
type storm struct {
	*world
	random *rand.Rand
	mu     sync.Mutex
	// harshness is how many of 100 requests meet with something.
	harshness int
	// holders says who believes to hold a key.
	holders map[string]*client.Lock
	// tokens is the greatest token seen of a key by its holders.
	tokens  map[string]uint64
	granted atomic.Int64
}

func newStorm(w *world, seed uint64) *storm {
	return &storm{
		world: w, random: rand.New(rand.NewPCG(seed, 0)), harshness: []int{1, 2, 4}[seed%3],
		holders: make(map[string]*client.Lock), tokens: make(map[string]uint64),
	}
}

func (s *storm) chance(percent int) bool { return s.n(100) < percent }

func (s *storm) n(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// fate is what befalls a request. A grant that is late is another test's: nobody
// but the server knows when its lease began.
func (s *storm) fate(_ *session, r *wire.Request) action {
	if !s.chance(s.harshness) || r.Op == wire.OpGiveUp {
		return action{}
	}
	does := []action{
		{cutBefore: true}, {cutAfter: true}, {cutBefore: true}, {cutAfter: true},
		{late: time.Duration(1+s.n(800)) * time.Millisecond},
	}[s.n(5)]
	if r.Op == wire.OpAcquire {
		does.late = 0
	}
	return does
}

// hold notes that a lock is believed to be held.
func (s *storm) hold(lock *client.Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted.Add(1)
	if other := s.holders[lock.Key()]; other != nil && other.Err() == nil && lock.Err() == nil {
		s.t.Errorf("key %q is held by tokens %d and %d", lock.Key(), other.Token(), lock.Token())
		s.locked(func() { s.history.about(lock.Key()) })
	}
	if last := s.tokens[lock.Key()]; lock.Token() <= last {
		s.t.Errorf("key %q: token %d after %d", lock.Key(), lock.Token(), last)
	}
	s.holders[lock.Key()], s.tokens[lock.Key()] = lock, lock.Token()
}

func (s *storm) letGo(lock *client.Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders[lock.Key()] == lock {
		delete(s.holders, lock.Key())
	}
}

// work acquires, works, releases, in all ways, again and again.
func (s *storm) work(c *client.Client, rounds int) {
	for range rounds {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(1+s.n(20_000))*time.Millisecond)
		if s.chance(20) {
			time.AfterFunc(time.Duration(s.n(2000))*time.Millisecond, cancel)
		}
		lock, err := c.Acquire(ctx, fmt.Sprint("key ", s.n(40)), s.options()...)
		if err == nil {
			s.use(ctx, lock)
		} else if !documented(err) {
			s.t.Errorf("acquire: %v", err)
		}
		cancel()
	}
}

func (s *storm) options() []client.LockOption {
	return [][]client.LockOption{
		nil, nil,
		{client.WithWait(time.Duration(1+s.n(3000)) * time.Millisecond)},
		{client.WithoutWait()},
		{client.WithLease(time.Duration(2000+s.n(5000)) * time.Millisecond)},
	}[s.n(5)]
}

func (s *storm) use(ctx context.Context, lock *client.Lock) {
	s.hold(lock)
	time.Sleep(time.Duration(s.n(300)) * time.Millisecond)
	if s.chance(10) {
		if err := lock.Keep(ctx, 10*time.Second); err != nil && !documented(err) {
			s.t.Errorf("keep: %v", err)
		}
	}
	s.letGo(lock)
	if err := lock.Release(ctx); err != nil && !documented(err) {
		s.t.Errorf("release: %v", err)
	}
}

// documented reports whether a call may end so.
func documented(err error) bool {
	for _, may := range []error{
		client.ErrTimeout, client.ErrUnavailable, client.ErrLost, client.ErrNotHeld,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, may) {
			return true
		}
	}
	return false
}

// weather moves the active role, resets connections and restarts nodes.
func (s *storm) weather(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(100+s.n(2000)) * time.Millisecond):
		}
		addr := []string{nodeA, nodeB}[s.n(2)]
		switch s.n(4) {
		case 0:
			s.move(addr)
		case 1:
			s.reset(addr)
		case 2:
			s.stop(addr)
			time.Sleep(time.Duration(s.n(2000)) * time.Millisecond)
			s.start(addr)
		case 3:
			for _, l := range s.open(addr) {
				l.vanish()
			}
		}
	}
}

func TestNothingIsLeftAndNobodyHoldsTwice(t *testing.T) {
	t.Parallel()
	seeds := []uint64{*stormSeed}
	if *stormSeed == 0 {
		seeds = []uint64{rand.Uint64(), rand.Uint64(), rand.Uint64()}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runStorm(t, seed) })
	}
}

func runStorm(t *testing.T, seed uint64) {
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		t.Logf("seed %d", seed)
		s := newStorm(w, seed)
		w.on("", s.fate)
		clients := []*client.Client{w.client([]string{nodeA, nodeB}), w.client([]string{nodeB, nodeA})}
		var workers sync.WaitGroup
		for i := range 200 {
			workers.Go(func() { s.work(clients[i%2], 15) })
		}
		done := make(chan struct{})
		go s.weather(done)
		workers.Wait()
		close(done)
		w.on("", nil)
		w.calm()
		t.Logf("%d grants, %+v, %+v", s.granted.Load(), clients[0].Stats(), clients[1].Stats())
		if s.granted.Load() < 100 {
			t.Errorf("%d grants in 3000 rounds", s.granted.Load())
		}
	})
}

// calm lets the network recover, and what runs in the background end.
func (w *world) calm() {
	w.acceptAll()
	time.Sleep(time.Minute)
}
