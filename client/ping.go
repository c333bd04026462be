package client

import (
	"fmt"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// ping sends a ping at every interval, also when nothing is in flight, and closes
// the connection if the oldest unanswered one is older than the limit, for a peer
// that vanished closes nothing itself; or when the client is at its end.
func (n *conn) ping() {
	c := n.link.client
	interval, limit := int64(c.o.pingInterval), int64(c.o.pingTimeout)
	timer := time.NewTimer(c.o.pingInterval)
	defer timer.Stop()
	next, asked := c.now()+interval, int64(-1)
	for {
		select {
		case <-n.closed:
			return
		case <-c.life.Done():
			n.close(ErrClosed)
			return
		case <-timer.C:
		}
		now := c.now()
		if asked >= 0 && n.heard.Load() >= asked {
			asked = -1
		}
		if asked >= 0 && now-asked >= limit {
			n.close(fmt.Errorf("the server was silent for %s after a ping", c.o.pingTimeout))
			return
		}
		if now >= next {
			n.pingNow()
			next = now + interval
			if asked < 0 {
				asked = now
			}
		}
		timer.Reset(time.Duration(nextCheck(next, asked, limit) - now))
	}
}

// pingNow does not wait for room: what there is to write comes first, and the
// answers to that are as good as one to a ping.
func (n *conn) pingNow() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.out) <= maxOut {
		n.append(&wire.Request{Op: wire.OpPing})
	}
}

func nextCheck(next, asked, limit int64) int64 {
	if asked >= 0 {
		return min(next, asked+limit)
	}
	return next
}
