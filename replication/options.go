package replication

import (
	"fmt"
	"math"
	"time"

	"github.com/caddylock/caddylock/lockcore"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// Options are what a configuration may set. Changes apply at once, also to
// connections that are open; what was granted or queued before stays.
type Options struct {
	// MaxLease is the longest lease a client may ask for.
	MaxLease time.Duration
	// MaxKeys is how many keys may be held or waited for at a time.
	MaxKeys int
	// MaxWaitersPerKey is how many acquires may wait for one key.
	MaxWaitersPerKey int
	// MaxConnections is how many client connections are served at a time.
	MaxConnections int
	// MaxKeyBytes is the length of the longest key.
	MaxKeyBytes int
	// MaxOutbox is how many bytes of replies may wait for a client that does not
	// read them; past that it is disconnected.
	MaxOutbox int
	// ReconnectGrace is how long a repeatable acquire outlives its connection.
	ReconnectGrace time.Duration
	// ClientTimeout is after how much silence a connection with waiting acquires
	// counts as gone, and how long a client may leave its replies unread.
	ClientTimeout time.Duration
	// FailureTimeout is after how much silence a peer counts as dead. What is
	// left of a lease after a restart is at least twice this, or its full
	// length. A node that runs alone has no peers, so the configuration cannot set
	// it yet.
	FailureTimeout time.Duration
}

// DefaultOptions returns the options of a node that is configured with none.
func DefaultOptions() Options {
	return Options{
		MaxLease:         24 * time.Hour,
		MaxKeys:          10_000_000,
		MaxWaitersPerKey: 100_000,
		MaxConnections:   100_000,
		MaxKeyBytes:      wire.MaxKey,
		MaxOutbox:        1 << 20,
		ReconnectGrace:   5 * time.Second,
		ClientTimeout:    15 * time.Second,
		FailureTimeout:   2 * time.Second,
	}
}

// The ranges of options. A lease beyond a century is a mistake in a unit.
const (
	LongestMaxLease = 100 * 365 * 24 * time.Hour
	LeastMaxOutbox  = 64 << 10
)

// Validate returns an error that says what to write instead.
func (o Options) Validate() error {
	for _, c := range []struct {
		name       string
		value, min int
		max        int
	}{
		{"max_keys", o.MaxKeys, 1, math.MaxInt32},
		{"max_waiters_per_key", o.MaxWaitersPerKey, 1, math.MaxInt32},
		{"max_connections", o.MaxConnections, 1, math.MaxInt32},
		{"max_key_bytes", o.MaxKeyBytes, 1, wire.MaxKey},
		{"max_outbox", o.MaxOutbox, LeastMaxOutbox, math.MaxInt32},
	} {
		if c.value < c.min || c.value > c.max {
			return fmt.Errorf("%s is %d; write a number from %d to %d", c.name, c.value, c.min, c.max)
		}
	}
	for _, c := range []struct {
		name            string
		value, min, max time.Duration
	}{
		{"max_lease", o.MaxLease, time.Millisecond, LongestMaxLease},
		{"reconnect_grace", o.ReconnectGrace, 0, time.Hour},
		{"client_timeout", o.ClientTimeout, time.Second, 24 * time.Hour},
		{"failure_timeout", o.FailureTimeout, 10 * time.Millisecond, time.Hour},
	} {
		if c.value < c.min || c.value > c.max {
			return fmt.Errorf("%s is %s; write a duration from %s to %s", c.name, c.value, c.min, c.max)
		}
	}
	return nil
}

func (o *Options) limits() lockcore.Limits {
	return lockcore.Limits{MaxWaiters: o.MaxWaitersPerKey, Grace: o.ReconnectGrace}
}

// leaseFloor is what is left of a lease at least, once nobody could renew it
// for a while: time for live holders to do so. Never more than the full lease,
// so that a dead holder's lock does not live for ever over repeated failovers.
func (o *Options) leaseFloor(lease time.Duration) time.Duration {
	return min(lease, 2*o.FailureTimeout)
}
