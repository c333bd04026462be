package client_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// clientTimeout is how long a connection may be silent before its waiters count
// as away.
const clientTimeout = 15 * time.Second

// cluster is a set of nodes that share one table as if replication were perfect.
type cluster struct {
	mu      sync.Mutex
	net     *fakeNet
	nodes   map[string]*node
	table   *table
	history *history
	// active is the active node's address; "" while there is none.
	active     string
	generation uint64
	timer      *time.Timer
}

// newCluster starts a node at each address; the first is active.
func newCluster(tb testing.TB, net *fakeNet, addrs ...string) *cluster {
	c := &cluster{
		net: net, nodes: make(map[string]*node), table: newTable(), history: newHistory(tb),
		active: addrs[0], generation: uint64(time.Now().Unix()),
	}
	for _, addr := range addrs {
		c.add(addr)
	}
	return c
}

// add starts one more node.
func (c *cluster) add(addr string) *node {
	n := &node{
		cluster: c, addr: addr, table: c.table,
		sessions: make(map[*session]bool), clients: make(map[string]*registered),
	}
	c.locked(func() { c.nodes[addr] = n })
	c.net.listen(addr, n.serve)
	return n
}

// locked calls f with the mutex held and sets the clock anew.
func (c *cluster) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	c.arm()
}

// arm wakes the cluster at its next deadline. The caller holds the mutex.
func (c *cluster) arm() {
	if c.timer != nil {
		c.timer.Stop()
	}
	if next := c.sweep(); next >= 0 {
		c.timer = time.AfterFunc(next, func() { c.locked(func() {}) })
	}
}

// sweep lets everything end that is due.
func (c *cluster) sweep() (next time.Duration) {
	next = -1
	for _, t := range c.tables() {
		if soon := t.sweep(); soon >= 0 && (next < 0 || soon < next) {
			next = soon
		}
	}
	return next
}

// tables are the cluster's own and those of nodes that decide alone.
func (c *cluster) tables() []*table {
	tables := []*table{c.table}
	for _, n := range c.nodes {
		if n.table != c.table {
			tables = append(tables, n.table)
		}
	}
	return tables
}

// silent is for a connection that nothing was heard from.
func (c *cluster) silent(s *session) {
	c.locked(func() { s.node.table.disconnect(s) })
}

func (c *cluster) hookOf(n *node) func(*session, *wire.Request) action {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.onRequest
}

// on has a node's requests go through f; every node's if addr is "".
func (c *cluster) on(addr string, f func(s *session, r *wire.Request) action) {
	c.locked(func() {
		for _, n := range c.nodes {
			if addr == "" || n.addr == addr {
				n.onRequest = f
			}
		}
	})
}

// move makes another node the active one and says so to every connection.
func (c *cluster) move(addr string) {
	c.moveSilently(addr)
	c.locked(func() {
		for _, n := range c.nodes {
			n.notice(addr, c.generation)
		}
	})
}

// moveSilently makes another node the active one; "" is none. Those who wait
// have to ask again.
func (c *cluster) moveSilently(addr string) {
	c.locked(func() {
		c.active = addr
		c.generation++
		c.table.sendAway()
	})
}

// claim makes a node decide on its own, in a generation, with a table of its
// own.
func (c *cluster) claim(addr string, generation uint64) *table {
	t := newTable()
	c.locked(func() {
		t.token = c.table.token + 1<<32
		n := c.nodes[addr]
		n.claim, n.table = generation, t
	})
	return t
}

// stop refuses new connections to a node and resets the open ones.
func (c *cluster) stop(addr string) {
	c.net.set(addr, refuses)
	c.net.reset(addr)
}

// start takes connections again.
func (c *cluster) start(addr string) { c.net.set(addr, accepts) }

// shutDown ends every connection, black holes too.
func (c *cluster) shutDown() {
	for _, l := range c.net.all() {
		_ = l.server.Close()
	}
	c.locked(func() {})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}

// say sends a line on every connection to a node.
func (c *cluster) say(addr, line string) {
	c.locked(func() {
		for s := range c.nodes[addr].sessions {
			s.say(line)
		}
	})
}

// holder returns the token that holds a key and how many acquires wait for it.
func (c *cluster) holder(key string) (token uint64, waiters int) {
	c.locked(func() {
		if l := c.table.locks[key]; l != nil {
			token, waiters = l.token, len(l.queue)
		}
	})
	return token, waiters
}

// grants returns how many grants there were.
func (c *cluster) grants() (n int) {
	c.locked(func() { n = c.table.granted })
	return n
}

// hold has a stranger hold a key for a time.
func (c *cluster) hold(key string, lease time.Duration) (token uint64) {
	c.locked(func() {
		l := c.table.lockOf(key)
		c.table.hold(l, acquireID{"stranger", 0}, lease)
		token = l.token
	})
	return token
}

// let has the stranger release a key.
func (c *cluster) let(key string) {
	c.locked(func() {
		l := c.table.lockOf(key)
		c.table.free(l)
		c.table.pass(l)
		c.table.tidy(l)
	})
}

// idle describes what is held or waited for; "" if nothing is.
func (c *cluster) idle() (text string) {
	c.locked(func() {
		for _, t := range c.tables() {
			for _, l := range t.locks {
				text += fmt.Sprintf("key %q: token %d of %v, %d waiting\n", l.key, l.token, l.owner, len(l.queue))
			}
		}
	})
	return text
}
