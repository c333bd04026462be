package replication

import (
	"hash/crc32"
	"sync"
	"time"

	"github.com/caddylock/caddylock/lockcore"
)

// numShards is how many tables a node has. Many more than cores, so that two
// connections rarely want the same one; every node has the same number, so that
// a shard means the same keys everywhere.
const numShards = 64

// shard is a table, the mutex around it, and the timer that wakes it.
type shard struct {
	node *Node

	mu    sync.Mutex
	table *lockcore.Table
	// serving: the shard decides. Before the start and once it is frozen it does
	// not.
	serving bool
	// latest is the latest instant the table was told. Instants are read outside
	// the mutex and may be told out of order; a table's time never goes back.
	latest lockcore.Instant
	timer  *time.Timer
	// armed is when the timer fires.
	armed lockcore.Instant
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// shardOf finds the shard of a key, the same one on every node.
func (n *Node) shardOf(key []byte) *shard {
	return &n.shards[crc32.Checksum(key, castagnoli)%numShards]
}

// lock enters the shard. ok is false if it does not decide; the mutex is held
// all the same. The instant returned is now, or the latest one told.
func (s *shard) lock(now lockcore.Instant) (at lockcore.Instant, ok bool) {
	s.mu.Lock()
	s.latest = max(s.latest, now)
	return s.latest, s.serving
}

// unlock hands out what was decided, sees to it that the shard wakes in time,
// and leaves it. own is the connection whose handler called: it writes its own
// replies, the others are woken.
func (s *shard) unlock(effects []lockcore.Effect, own *Conn) {
	var expired []expiry
	for i := range effects {
		e := &effects[i]
		if e.Conn != nil {
			conn := e.Conn.(*Conn)
			conn.deliver(e, conn == own)
		}
		if e.Kind == lockcore.Expired && e.Waiters > 0 {
			expired = append(expired, expiryOf(e))
		}
	}
	s.arm()
	s.mu.Unlock()
	for _, e := range expired {
		s.node.logExpiry(e)
	}
}

// arm sets the timer if something is due before it would fire. A timer set too
// early only looks and sets itself again, so the usual release costs nothing.
func (s *shard) arm() {
	due := s.table.Due()
	if due >= s.armed {
		return
	}
	s.armed = due
	wait := due.Until(s.node.now())
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.wake)
	} else {
		s.timer.Reset(wait)
	}
}

// wake is the timer's: it lets happen what is due.
func (s *shard) wake() {
	now, ok := s.lock(s.node.now())
	s.armed = lockcore.Never
	if !ok {
		s.mu.Unlock()
		return
	}
	s.unlock(s.table.Tick(now), nil)
}

// open lets the shard decide.
func (s *shard) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = true
	s.arm()
}

// freeze stops the shard from deciding anything more: no grant, no release, no
// lease, wait or grace ends. It returns with the mutex held.
func (s *shard) freeze() lockcore.Instant {
	s.mu.Lock()
	s.serving = false
	s.armed = lockcore.Never
	if s.timer != nil {
		s.timer.Stop()
	}
	s.latest = max(s.latest, s.node.now())
	return s.latest
}
