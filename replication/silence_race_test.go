package replication

import (
	"strings"
	"testing"
	"time"
)

// TestAConnectionThatEndsWhileItsSilenceIsLookedAtLeavesNoWaiter stops the look
// at a connection's waiters half way, and lets the connection end meanwhile.
func TestAConnectionThatEndsWhileItsSilenceIsLookedAtLeavesNoWaiter(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	holder, waiter := h.phone(), h.phone()
	token := holder.acquire("30", "k")
	waiter.say("A 30 0 k")
	eventually(t, "the acquire waits", func() bool { return strings.HasSuffix(holder.ask("Q k"), " 1 k") })

	conn := connWithWaiters(t, h.node)
	blocked := h.node.shardOf([]byte("k"))
	blocked.mu.Lock()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		conn.waits()
	}()
	eventually(t, "the look has begun", func() bool { return !conn.mayWait.Load() })
	waiter.hangUp()
	eventually(t, "the handler noticed the end", conn.gone.Load)
	blocked.mu.Unlock()
	<-looked

	eventually(t, "the waiter has ended", func() bool { return strings.HasSuffix(holder.ask("Q k"), " 0 k") })
	holder.ask("R " + token + " k")
	if got := holder.ask("Q k"); got != "Q 0 0 0 k" {
		t.Errorf("the lock went to a connection that had ended: %q", got)
	}
	h.check()
}

// connWithWaiters finds the one connection of a node that waits for a lock.
func connWithWaiters(t *testing.T, n *Node) *Conn {
	for _, c := range n.conns.list() {
		if c.mayWait.Load() {
			return c
		}
	}
	t.Fatal("no connection waits")
	return nil
}

// slowToEnd is a connection whose handler does not notice that it is to end.
type slowToEnd struct{ halfCloser }

func (slowToEnd) SetReadDeadline(time.Time) error { return nil }

// TestAfterItsLastWordASilentConnectionIsGrantedNothing: the client may not read
// on, and nobody would hold the lock then.
func TestAfterItsLastWordASilentConnectionIsGrantedNothing(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	holder := h.phone()
	client, server := newPipe()
	h.serve(slowToEnd{server})
	waiter := newPhone(t, client)
	token := holder.acquire("30", "k")
	waiter.say("A 30 0 k")
	eventually(t, "the acquire waits", func() bool { return strings.HasSuffix(holder.ask("Q k"), " 1 k") })

	conn := connWithWaiters(t, h.node)
	conn.heard.Store(int64(-time.Hour))
	conn.checkAlive(h.node.now())
	holder.expect("R "+token+" k", "R "+token+" k")
	holder.expect("Q k", "Q 0 0 0 k")
	waiter.hangUp()
}
