package client

import (
	"fmt"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// watch sends a ping at every interval, also when nothing is in flight, and closes
// the connection if the oldest unanswered one is older than the limit, for a peer
// that vanished closes nothing itself; or when the client is at its end. It fails
// the calls whose answer is late, or tells them.
func (n *conn) watch() {
	c := n.link.client
	w := watch{n: n, interval: int64(c.o.pingInterval), limit: int64(c.o.pingTimeout), asked: never}
	w.next = c.now() + w.interval
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-n.closed:
			return
		case <-c.life.Done():
			n.close(ErrClosed)
			return
		case <-n.alarm:
		case <-timer.C:
		}
		if n.isDone() {
			n.close(errMoved)
			return
		}
		now := c.now()
		if !w.check(now) {
			n.close(fmt.Errorf("the server was silent for %s after a ping", c.o.pingTimeout))
			return
		}
		timer.Reset(time.Duration(min(w.due(), n.failLate(now)) - now))
	}
}

// isDone reports whether another connection took the place of this and nothing is
// to be answered here any more.
func (n *conn) isDone() bool {
	select {
	case <-n.replaced:
		return !n.busy()
	default:
		return false
	}
}

const never = -1

// watch is what is known of the pings of a connection.
type watch struct {
	n               *conn
	interval, limit int64
	next            int64 // when to ping
	asked           int64 // when the oldest unanswered ping was sent; or never
}

// check pings if it is time to, unless the last one was answered too late.
func (w *watch) check(now int64) bool {
	if w.asked != never && w.n.heard.Load() >= w.asked {
		w.asked = never
	}
	if w.asked != never && now-w.asked >= w.limit {
		return false
	}
	if now >= w.next {
		w.n.ping(now)
		w.next = now + w.interval
		if w.asked == never {
			w.asked = now
		}
	}
	return true
}

func (w *watch) due() int64 {
	if w.asked != never {
		return min(w.next, w.asked+w.limit)
	}
	return w.next
}

// ping does not wait for room: what there is to write comes first, and the answers
// to that are as good as one to a ping.
func (n *conn) ping(now int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.out) > maxOut {
		return
	}
	req := wire.Request{Op: wire.OpPing, Tag: n.link.client.tag()}
	n.append(&req)
	if n.pingTag == 0 {
		n.pingTag, n.pingAt = req.Tag, now
	}
}

// pinged notes that a ping is answered.
func (n *conn) pinged(tag uint64) {
	if tag == n.pingTag {
		n.echoed(n.pingAt)
		n.pingTag = 0
	}
}

// failLate fails the calls whose limit is over, or tells those that linger, and
// tells those that are not early any more. It returns when to look again.
func (n *conn) failLate(now int64) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now < n.soonest {
		return n.soonest
	}
	n.soonest = noLimit
	for tag, k := range n.pending {
		switch {
		case k.limit > now:
		case k.lingers:
			k.limit = noLimit
			k.told <- isLate
		default:
			delete(n.pending, tag)
			k.fail(errLate)
			continue
		}
		if k.early && k.sent+int64(rest) <= now {
			k.early = false
			k.told <- notEarly
		}
		n.soonest = min(n.soonest, max(k.due(), now+int64(rest)))
	}
	return n.soonest
}

// due is when the connection has to look at the call.
func (k *call) due() int64 {
	if k.early {
		return min(k.limit, k.sent+int64(rest))
	}
	return k.limit
}
