package replication

import (
	"fmt"
	"sync"
	"time"
)

// resource is what a lock protects. It knows when two holders are there at
// once: a holder believes in its lock from its grant until its lease may have
// ended, counted from the moment it asked, or until it leaves.
type resource struct {
	key string

	mu       sync.Mutex
	greatest uint64
	inside   uint64
	until    time.Time
	entered  int
	errs     []error
}

// enter lets the holder of a token in, if its lease surely lasts still.
func (r *resource) enter(token uint64, until time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if !now.Before(until) {
		return false
	}
	if token < r.greatest {
		r.fail("token-monotonic: %s holds %d, and %d was there before", r.key, token, r.greatest)
	}
	if r.inside != 0 && r.inside != token && now.Before(r.until) {
		r.fail("one-holder: %s is held under %d and %d", r.key, r.inside, token)
	}
	r.greatest, r.inside, r.until = max(r.greatest, token), token, until
	r.entered++
	return true
}

// leave is called before a lock is given back.
func (r *resource) leave(token uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inside == token {
		r.inside = 0
	}
}

func (r *resource) fail(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

// grants remembers whose every token is.
type grants struct{ byToken sync.Map }

// note fails if the token was granted to another acquire.
func (g *grants) note(token uint64, acquire string) error {
	if other, known := g.byToken.LoadOrStore(token, acquire); known && other != acquire {
		return fmt.Errorf("token-monotonic: %d was issued for %s and for %s", token, other, acquire)
	}
	return nil
}
