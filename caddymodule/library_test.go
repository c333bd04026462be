package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/caddylock/caddylock/client"
)

// library is a client of the home's server. It is closed when the test ends.
func (h *home) library(opts ...client.Option) *client.Client {
	h.t.Helper()
	c, err := client.New([]string{h.addr}, opts...)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			h.t.Error(err)
		}
	})
	return c
}

// crowd is many goroutines that acquire and release a few keys until they are
// told to stop.
type crowd struct {
	t       *testing.T
	client  *client.Client
	work    sync.WaitGroup
	stop    chan struct{}
	granted atomic.Int64
	tokens  sync.Map
}

const crowdKeys = 5

// gather starts a crowd of which every member does the same again and again.
func gather(t *testing.T, c *client.Client, round func(s *crowd, key string)) *crowd {
	s := &crowd{t: t, client: c, stop: make(chan struct{})}
	for i := range 4 * crowdKeys {
		s.work.Go(func() {
			for {
				select {
				case <-s.stop:
					return
				default:
					round(s, fmt.Sprint("key ", i%crowdKeys))
				}
			}
		})
	}
	return s
}

// grow waits until so many locks more were granted.
func (s *crowd) grow(more int64) {
	s.t.Helper()
	want := s.granted.Load() + more
	eventually(s.t, func() error {
		if n := s.granted.Load(); n < want {
			return fmt.Errorf("%d locks were granted, want %d", n, want)
		}
		return nil
	})
}

// disperse lets every member end its round.
func (s *crowd) disperse() {
	close(s.stop)
	s.work.Wait()
}

func (s *crowd) note(l *client.Lock) {
	s.granted.Add(1)
	if _, before := s.tokens.LoadOrStore(l.Token(), true); before {
		s.t.Errorf("token %d was granted twice", l.Token())
	}
}

// wantOneOf fails the test unless a call ended well or in one of the ways that
// its documentation names.
func (s *crowd) wantOneOf(doing string, err error, documented ...error) {
	if err == nil {
		return
	}
	for _, target := range documented {
		if errors.Is(err, target) {
			return
		}
	}
	s.t.Errorf("%s: %v", doing, err)
}

// anyCalls makes every kind of call, and expects what is documented.
func (s *crowd) anyCalls(key string) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Second)
	defer cancel()
	over := []error{client.ErrUnavailable, context.DeadlineExceeded}
	_, err := s.client.Query(ctx, key)
	s.wantOneOf("query", err, over...)
	l, err := s.client.Acquire(ctx, key, client.WithWait(time.Second))
	s.wantOneOf("acquire", err, append(over, client.ErrTimeout)...)
	if err != nil {
		return
	}
	s.note(l)
	s.wantOneOf("keep", l.Keep(ctx, time.Minute), append(over, client.ErrLost)...)
	s.wantOneOf("release", l.Release(ctx), append(over, client.ErrLost)...)
}

// A killed server takes its locks with it. No call may end otherwise than it says,
// no token may be granted twice, and afterwards all is as if nothing had happened.
func TestProcessKilledUnderLoadIsSurvivedByTheClient(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	config := h.config("")
	p := h.serve(config)
	c := h.library(client.WithUnavailableAfter(time.Second))
	s := gather(t, c, (*crowd).anyCalls)
	for range 4 {
		s.grow(100)
		p.kill()
		p = h.serve(config)
	}
	s.grow(100)
	s.disperse()
	for i := range crowdKeys {
		l, err := c.Acquire(t.Context(), fmt.Sprint("key ", i))
		mustDo(t, err)
		mustDo(t, l.Release(t.Context()))
	}
}

// oneInside acquires, and expects to be alone until it releases.
func (s *crowd) oneInside(key string, inside *sync.Map) {
	l, err := s.client.Acquire(s.t.Context(), key)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.note(l)
	if other, taken := inside.LoadOrStore(key, l.Token()); taken {
		s.t.Errorf("tokens %d and %d hold %q at once", other, l.Token(), key)
	}
	inside.Delete(key)
	if err := l.Release(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}

func TestProcessRestartedAsPlannedUnderLoadIsNoticedByNobody(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	config := h.config("reconnect_grace 1m")
	p := h.serve(config)
	c := h.library(client.WithUnavailableAfter(patience))
	kept, err := c.Acquire(t.Context(), "kept")
	mustDo(t, err)
	var inside sync.Map
	s := gather(t, c, func(s *crowd, key string) { s.oneInside(key, &inside) })
	for range 3 {
		s.grow(100)
		p.signal(syscall.SIGTERM)
		p.wantStopped()
		p = h.serve(config)
	}
	s.grow(100)
	s.disperse()
	mustDo(t, kept.Release(t.Context()))
}

// The new server's first answer tells the holder, not the end of its lease.
func TestProcessKilledTellsTheHolderAfterItsRestart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.serve(h.config(""))
	l, err := h.library().Acquire(t.Context(), "k", client.WithLease(time.Hour))
	mustDo(t, err)
	p.kill()
	h.serve(h.config(""))
	if err := l.Keep(t.Context(), time.Hour); !errors.Is(err, client.ErrLost) {
		t.Errorf("keeping what the server has forgotten: %v", err)
	}
	<-l.Done()
	if !errors.Is(context.Cause(l.Context()), client.ErrLost) || errors.Is(l.Err(), client.ErrLeaseOver) {
		t.Errorf("the lock ended because of %v", context.Cause(l.Context()))
	}
}
