package replication

import (
	"sync/atomic"
	"time"

	"github.com/caddylock/caddylock/lockcore"
)

const (
	counterMask = 1<<lockcore.CounterBits - 1
	// nearlyFull is where a counter announces the next generation, so that it is
	// stored before it is used: a million grants before, and later than where any
	// counter starts.
	nearlyFull = counterMask + 1 - 1<<20
)

// tokenCounter issues the node's fencing tokens. All shards share it, so tokens
// grow over all keys.
type tokenCounter struct {
	// packed is generation | counter: a full counter moves on to the next
	// generation by itself.
	packed atomic.Uint64
	place  uint64
	// onNearlyFull is called once in a generation, by the grant that gets there.
	onNearlyFull func()
}

// start begins a generation. The counter starts at the milliseconds of the
// second, so that a restart within one second, and with its storage lost, still
// issues greater tokens than before.
func (c *tokenCounter) start(generation uint64, now time.Time) {
	millis := uint64(now.Nanosecond() / int(time.Millisecond))
	c.packed.Store(generation<<lockcore.CounterBits | millis<<16)
}

// Next returns a token greater than every one before it.
func (c *tokenCounter) Next() uint64 {
	packed := c.packed.Add(1)
	if packed&counterMask == nearlyFull {
		c.onNearlyFull()
	}
	return packed>>lockcore.CounterBits<<(lockcore.PlaceBits+lockcore.CounterBits) |
		c.place<<lockcore.CounterBits | packed&counterMask
}

// generation is the one in use.
func (c *tokenCounter) generation() uint64 {
	return c.packed.Load() >> lockcore.CounterBits
}

// keyQuota counts the keys in use over all shards.
type keyQuota struct {
	used atomic.Int64
	max  atomic.Int64
}

func (q *keyQuota) Take() bool {
	for {
		used := q.used.Load()
		if used >= q.max.Load() {
			return false
		}
		if q.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

func (q *keyQuota) Force()  { q.used.Add(1) }
func (q *keyQuota) Return() { q.used.Add(-1) }
