package replication

import (
	"time"

	"github.com/caddylock/caddylock/lockcore"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// sweepInterval is how often silent connections and absent clients are looked
// for.
const sweepInterval = time.Second

// sweep looks for connections that have gone without a word.
func (n *Node) sweep() {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-n.background.Done():
			return
		case <-ticker.C:
			now := n.now()
			n.clients.sweep(now)
			for _, c := range n.conns.list() {
				c.checkAlive(now)
			}
		}
	}
}

// checkAlive cuts a connection that has left its replies unread for too long,
// or that waits for a lock and has been silent for too long.
func (c *Conn) checkAlive(now lockcore.Instant) {
	timeout := c.node.options.Load().ClientTimeout
	stuck := lockcore.Instant(c.writing.Load())
	if stuck != 0 && stuck.Add(timeout) <= now {
		c.abort()
		return
	}
	heard := lockcore.Instant(c.heard.Load())
	if heard.Add(timeout) <= now && c.mayWait.Load() && c.waits() {
		// Out of the queues first: who has had the last word must not be granted.
		c.gone.Store(true)
		c.leaveShards(now)
		c.malformed(tooSilent)
		c.finish()
	}
}

// tooSilent tells a person who speaks the protocol by hand what happened.
const tooSilent wire.Malformed = "nothing was heard for too long while an acquire waited; send P every 5 seconds"

// waits reports whether an acquire waits for its answer on this connection.
func (c *Conn) waits() bool {
	c.mayWait.Store(false)
	for i := range c.node.shards {
		s := &c.node.shards[i]
		s.mu.Lock()
		waits := s.table.Waits(c)
		s.mu.Unlock()
		if waits {
			c.mayWait.Store(true)
			return true
		}
	}
	return false
}
