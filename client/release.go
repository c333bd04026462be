package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

const (
	// releaseFor is how long a release is tried. After that the lease takes care
	// of it.
	releaseFor = 5 * time.Second
	// cleanUpFor is how long a call whose context is over waits for the answer to
	// its clean-up, which then goes on in the background.
	cleanUpFor = time.Second
	// maxRecent bounds the releases that are remembered for a move of the active
	// node.
	maxRecent = 1 << 16
)

// Release releases the lock that token holds, wherever it was acquired: the token
// is the proof. A lock that this client holds is better released by
// [Lock.Release], which also ends it.
//
// The release is tried for 5 seconds, also after ctx has ended: then in the
// background, after up to a second in which the call still waits for the answer
// if ctx was over from the start. It returns [ErrNotHeld], which also matches
// [ErrTaken] if another token holds the key, if the first try is told so; on a
// later one that means released. An error that matches the context's or
// [ErrUnavailable] means that no answer came; the lease takes care of the lock if
// none of the tries did. [ErrClosed] means that nothing was tried.
func (c *Client) Release(ctx context.Context, key string, token uint64) error {
	if err := checkKey(wire.OpRelease, key); err != nil {
		return fmt.Errorf("release %q: %w", key, err)
	}
	if err := c.begin(); err != nil {
		return fmt.Errorf("release %q: %w", key, err)
	}
	defer c.end()
	return c.release(ctx, key, token)
}

func (c *Client) release(ctx context.Context, key string, token uint64) error {
	q := question{op: wire.OpRelease, key: key, token: token, client: c, attempt: attemptFor}
	q.patience, q.closing = releaseFor, true
	over := ctx.Err()
	if over != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), cleanUpFor)
		defer cancel()
	}
	got, err := q.ask(ctx)
	if err == nil {
		err = q.released(&got)
	} else if isInterrupted(err) {
		c.releaseLater(q)
	}
	switch {
	case err == nil:
		return nil
	case over != nil && isInterrupted(err):
		err = over
	}
	return fmt.Errorf("release %q: %w", key, err)
}

// releaseLater goes on with a release whose call ends.
func (c *Client) releaseLater(q question) {
	c.background(func() {
		got, err := q.ask(c.life)
		if err == nil {
			err = q.released(&got)
		}
		if err != nil {
			c.o.log.Warn("could not release a lock: its lease will end it", "key", q.key, "token", q.token, "error", err)
		}
	})
}

// released makes an error of the answer, unless the lock is released. That it is
// not held is what an earlier try may have brought about.
func (q *question) released(got *answer) error {
	c := q.client
	notHeld := got.code == wire.CodeNotHeld || got.code == wire.CodeTaken
	if got.kind == wire.KindError && !(notHeld && q.tries > 1) {
		return q.refusal(got)
	}
	c.count.released.Add(1)
	c.recent.add(q.key, q.token, got.at)
	return nil
}

// recent are the releases of the last seconds. When the active node dies it may
// take one with it that it has answered already.
type recent struct {
	mu    sync.Mutex
	ring  []pastRelease // grows up to maxRecent
	first int
	count int
}

type pastRelease struct {
	key   string
	token uint64
	at    int64
}

func (r *recent) add(key string, token uint64, now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trim(now)
	if r.count == len(r.ring) {
		r.grow()
	}
	r.ring[(r.first+r.count)%len(r.ring)] = pastRelease{key, token, now}
	r.count++
}

// trim drops what is too old.
func (r *recent) trim(now int64) {
	for r.count > 0 && now-r.ring[r.first].at > int64(releaseFor) {
		r.drop()
	}
}

func (r *recent) drop() {
	r.ring[r.first] = pastRelease{}
	r.first = (r.first + 1) % len(r.ring)
	r.count--
}

// grow makes room, by dropping the oldest if there is enough already.
func (r *recent) grow() {
	if len(r.ring) >= maxRecent {
		r.drop()
		return
	}
	ring := make([]pastRelease, max(64, 2*len(r.ring)))
	n := copy(ring, r.ring[r.first:])
	copy(ring[n:], r.ring[:r.first])
	r.ring, r.first = ring, 0
}

func (r *recent) list(now int64) []pastRelease {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trim(now)
	list := make([]pastRelease, r.count)
	for i := range list {
		list[i] = r.ring[(r.first+i)%len(r.ring)]
	}
	return list
}

// repeatReleases sends the releases of the last seconds to the node that became
// active. A token releases only itself, so to repeat one does no harm.
func (c *Client) repeatReleases(n *conn) {
	list := c.recent.list(c.now())
	if len(list) == 0 {
		return
	}
	c.running.Go(func() {
		for _, past := range list {
			req := wire.Request{Op: wire.OpRelease, Tag: c.tag(), Token: past.token, Key: []byte(past.key)}
			if n.post(c.life, &req) != nil {
				return
			}
		}
	})
}
