package replication

import (
	"container/list"
	"sync"
	"time"

	"github.com/caddylock/caddylock/lockcore"
)

// clients knows the clients that named themselves: which of their connections
// are open, and the greatest connection number seen, so that no late copy of a
// connection given up is ever served.
type clients struct {
	mu   sync.Mutex
	byID map[string]*client
	// absent are those without a connection, the longest absent first.
	absent list.List
}

type client struct {
	id string
	// greatest connection number that was opened or given up.
	greatest uint64
	conns    map[uint64]*Conn
	// since and element are set while it is in absent.
	since   lockcore.Instant
	element *list.Element
}

// A client without a connection is remembered this long: much longer than a
// connection given up can lie in a queue before it is served, or refused for
// its number. However many clients come and go, so many are remembered.
const (
	clientMemory     = time.Minute
	maxAbsentClients = 1 << 16
)

// open registers a connection under its client's id and number. It returns nil
// if the number is not greater than all before.
func (cs *clients) open(id []byte, number uint64, conn *Conn) *client {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.byID[string(id)]
	if c == nil {
		c = &client{id: string(id), conns: make(map[uint64]*Conn, 1)}
		cs.byID[c.id] = c
	}
	if number <= c.greatest {
		return nil
	}
	if c.element != nil {
		cs.absent.Remove(c.element)
		c.element = nil
	}
	c.greatest = number
	c.conns[number] = conn
	return c
}

// giveUp makes sure that the connection of this number is served no more,
// whether or not it has come, and returns it if it is open.
func (cs *clients) giveUp(c *client, number uint64) *Conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.greatest = max(c.greatest, number)
	return c.conns[number]
}

// close takes a connection out.
func (cs *clients) close(c *client, number uint64, now lockcore.Instant) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(c.conns, number)
	if len(c.conns) > 0 || c.element != nil {
		return
	}
	c.since = now
	c.element = cs.absent.PushBack(c)
	if cs.absent.Len() > maxAbsentClients {
		cs.forget(cs.absent.Front())
	}
}

// sweep forgets clients that have been absent for long.
func (cs *clients) sweep(now lockcore.Instant) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for e := cs.absent.Front(); e != nil; e = cs.absent.Front() {
		if e.Value.(*client).since.Add(clientMemory) > now {
			return
		}
		cs.forget(e)
	}
}

func (cs *clients) forget(e *list.Element) {
	c := cs.absent.Remove(e).(*client)
	c.element = nil
	delete(cs.byID, c.id)
}
