package client

import (
	"context"
	"errors"
	"time"
)

const (
	// retryEvery is the pause between the tries of a call, give or take a fifth,
	// after the first few, which follow each other at once.
	retryEvery = 200 * time.Millisecond
)

// search is a call's looking for a server that does what it asks.
type search struct {
	// patience is how long it may take; noLimit for as long as the context allows.
	patience time.Duration
	// since is when it began; zero while nothing is amiss.
	since time.Time
	// missed counts the tries that came to nothing.
	missed int
	// avoid is the connection that did not answer last.
	avoid *conn
	// closing makes the search go on although the client is closing.
	closing bool
	// others tells of answers to earlier tries, which end the search with
	// errAnswered; nil if there are none.
	others chan *call
}

var errAnswered = errors.New("answered meanwhile")

// conn returns the connection to use, by turns, which tags are good for. There is an error if ctx ends first (it
// matches ErrUnavailable, too), if the patience is over, or the client closes.
func (s *search) conn(ctx context.Context, c *Client, turn uint64) (*conn, error) {
	if s.missed == 0 {
		if n := c.routes.next(turn, nil); n != nil {
			return n, nil
		}
	}
	s.begin()
	if err := s.pause(ctx, c); err != nil {
		return nil, err
	}
	for {
		n, changed, over := c.routes.look(s, turn+uint64(s.missed))
		switch {
		case n != nil && !over:
			return n, nil
		case over:
			c.count.unavailable.Add(1)
			return nil, c.routes.unavailable()
		}
		if err := s.sleep(ctx, c, changed, s.tick()); err != nil {
			return nil, err
		}
	}
}

// look returns the connection whose turn it is, or has the links dial; and whether
// the search has come to nothing.
func (r *routes) look(s *search, turn uint64) (n *conn, changed <-chan struct{}, over bool) {
	r.mu.Lock()
	defer r.unlock()
	if !r.hintUntil.IsZero() && !time.Now().Before(r.hintUntil) {
		r.hintUntil = time.Time{}
		r.refresh()
	}
	r.forgetOldGeneration()
	if n = r.next(turn, s.avoid); n == nil {
		for _, l := range r.links() {
			l.prompt()
		}
	}
	over = r.cameToNothing(s) && (n == nil || s.missed >= len(r.given))
	return n, r.changed, over
}

// cameToNothing reports whether s has lasted for its patience, with as many tries
// as there are links.
func (r *routes) cameToNothing(s *search) bool {
	if time.Since(s.since) < s.patience {
		return false
	}
	tries := s.missed
	for _, l := range r.links() {
		if l.conn == nil && !l.failedAt.Before(s.since) {
			tries++
		}
	}
	return tries >= len(r.given)
}

func (s *search) begin() {
	if s.since.IsZero() {
		s.since = time.Now()
	}
}

// miss notes that a try on n came to nothing.
func (s *search) miss(n *conn) {
	s.begin()
	s.missed++
	s.avoid = n
}

// pause keeps tries apart once it is clear that more of them do not help.
func (s *search) pause(ctx context.Context, c *Client) error {
	if s.missed <= 2 {
		return s.stopped(ctx, c)
	}
	return s.sleep(ctx, c, nil, jitter(retryEvery))
}

// tick is how long to wait for a change before looking again.
func (s *search) tick() time.Duration {
	if left := s.patience - time.Since(s.since); left > 0 {
		return min(left, retryEvery)
	}
	return retryEvery
}

// sleep waits for a change, or for d. There is an error if the search must end.
func (s *search) sleep(ctx context.Context, c *Client, changed <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	stopping := c.stopping
	if s.closing {
		stopping = nil
	}
	select {
	case other := <-s.others:
		s.others <- other // for whoever takes it in; there is room for all
		return errAnswered
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	case <-stopping:
	case <-c.life.Done():
	}
	return s.stopped(ctx, c)
}

// stopped says why the search must end, if it must.
func (s *search) stopped(ctx context.Context, c *Client) error {
	if err := ctx.Err(); err != nil {
		if c.routes.next(0, nil) == nil {
			return &interruptedError{err, c.routes.unavailable()}
		}
		return err
	}
	if c.life.Err() != nil || !s.closing && c.closing.Load() {
		return ErrClosed
	}
	return nil
}

// unavailable says what is wrong with each address.
func (r *routes) unavailable() *UnavailableError {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e UnavailableError
	for _, l := range r.links() {
		err := l.err
		if err == nil {
			err = errLate
		}
		if same := len(e.Addrs) - 1; same >= 0 && e.Addrs[same].Addr == l.addr {
			if e.Addrs[same].Err == errNotYet {
				e.Addrs[same].Err = err
			}
			continue // the second connection to a single address
		}
		e.Addrs = append(e.Addrs, AddrError{Addr: l.addr, Err: err})
	}
	return &e
}
