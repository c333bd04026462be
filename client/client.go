package client

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Client holds connections to the lock servers of one cluster. Any number of
// goroutines may use it at once; a process needs one. Make it with [New] and end
// it with [Client.Close].
type Client struct {
	o       options
	id      string // names this client to the servers
	born    time.Time
	numbers atomic.Uint64 // of connections
	calls   sync.Pool
	routes  routes
	locks   locks
	recent  recent
	count   counters

	// inflight counts the calls and background tasks that have not ended; idle is
	// told when there are none any more after closing has begun.
	inflight atomic.Int64
	closing  atomic.Bool
	// tags are counted beside what every call writes to as well, away from what
	// calls only read: processors that share a cache line wait for each other.
	tags     atomic.Uint64
	stopping chan struct{} // closed when closing begins
	idle     chan struct{}
	closed   chan struct{} // closed when Close is through

	// life ends when nothing is to be sent any more; running are the goroutines
	// that then end.
	life    context.Context
	endLife context.CancelFunc
	running sync.WaitGroup
}

// New starts a client of the lock servers at addrs: host:port, or unix/ and the
// path of a socket. It does not wait for a connection: that is the first call's to
// do. With one address there are two connections to it, with more there is one to
// each; they are kept up in the background. A bad address or option is an error.
func New(addrs []string, opts ...Option) (*Client, error) {
	if len(addrs) == 0 {
		return nil, errors.New("lock client: no address given")
	}
	o := defaultOptions()
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return nil, fmt.Errorf("lock client: %w", err)
		}
	}
	for _, addr := range addrs {
		if err := checkAddr(addr); err != nil {
			return nil, fmt.Errorf("lock client: %w", err)
		}
	}
	c := &Client{
		o: o, id: newID(), born: time.Now(), calls: sync.Pool{New: newCall},
		stopping: make(chan struct{}), idle: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	c.life, c.endLife = context.WithCancel(context.Background())
	c.locks.init()
	c.routes.client = c
	c.routes.open = make(map[*conn]struct{})
	c.routes.changed = make(chan struct{})
	c.connect(distinct(addrs))
	return c, nil
}

func distinct(addrs []string) (list []string) {
	for _, addr := range addrs {
		if !slices.Contains(list, addr) {
			list = append(list, addr)
		}
	}
	return list
}

// connect makes the links. With one address, two: so that one dropped connection
// does not stop the service.
func (c *Client) connect(addrs []string) {
	if len(addrs) == 1 {
		addrs = append(addrs, addrs[0])
	}
	c.routes.mu.Lock()
	defer c.routes.mu.Unlock()
	for _, addr := range addrs {
		c.routes.given = append(c.routes.given, c.newLink(addr, false))
	}
}

// newID returns what the protocol wants of a client id, with 128 random bits.
func newID() string {
	var random [16]byte
	rand.Read(random[:])
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// now is the client's monotonic clock.
func (c *Client) now() int64 { return int64(time.Since(c.born)) }

func (c *Client) tag() uint64 { return c.tags.Add(1) }

// begin admits a call, which must end.
func (c *Client) begin() error {
	c.inflight.Add(1)
	if c.closing.Load() {
		c.end()
		return ErrClosed
	}
	return nil
}

func (c *Client) end() {
	if c.inflight.Add(-1) == 0 && c.closing.Load() {
		poke(c.idle)
	}
}

// background goes on with what a call leaves to be done; the caller is in flight
// itself.
func (c *Client) background(task func()) {
	c.inflight.Add(1)
	go func() {
		defer c.end()
		task()
	}()
}

// Close ends the client. From now on calls return [ErrClosed], also the acquires
// that wait, which are withdrawn; the locks that are held are released and end;
// then the connections are closed. It waits for the answers of the servers until
// ctx ends, and for as long as a release is tried at most: the error then says
// that some did not answer. Those locks end with their leases. No goroutine of
// the client is left when it returns. A second Close waits for the first.
func (c *Client) Close(ctx context.Context) error {
	if !c.closing.CompareAndSwap(false, true) {
		return c.awaitClosed(ctx)
	}
	defer close(c.closed)
	ctx, cancel := context.WithTimeout(ctx, releaseFor)
	defer cancel()
	close(c.stopping)
	c.routes.stopAcquires()
	c.releaseAll()
	err := c.drain(ctx)
	c.routes.close()
	c.running.Wait()
	for c.inflight.Load() > 0 { // not for long: nothing can be asked any more
		<-c.idle
	}
	return err
}

func (c *Client) awaitClosed(ctx context.Context) error {
	select {
	case <-c.closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing the lock client: %w", ctx.Err())
	}
}

// drain waits for what is in flight.
func (c *Client) drain(ctx context.Context) error {
	for {
		left := c.inflight.Load()
		if left == 0 {
			return nil
		}
		select {
		case <-c.idle:
		case <-ctx.Done():
			return fmt.Errorf("closing the lock client: %d calls or releases without an answer: %w; %w",
				left, ctx.Err(), c.routes.unavailable())
		}
	}
}

// stopAcquires ends the acquires that wait for an answer.
func (r *routes) stopAcquires() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range r.open {
		n.stopAcquires()
	}
}

// close stops all links, and that there are new ones.
func (r *routes) close() {
	r.mu.Lock()
	r.client.endLife()
	r.mu.Unlock()
}
