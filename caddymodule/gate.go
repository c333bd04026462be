package caddymodule

import (
	"container/list"
	"net"
	"sync"

	"go.uber.org/zap"
)

// connections is the gate of the process. It outlives configurations, as
// connections do.
var connections gate

// gate counts connections, so that they stay below what the process has
// descriptors for. When descriptors run out, the accept loop of a listener ends
// for good, and nobody is answered any more.
type gate struct {
	mu sync.Mutex
	// open is how many slots are taken.
	open int
	// pending are those of them that have not been proved, the oldest first.
	pending list.List
}

// slot is the place of one connection in the gate.
type slot struct {
	gate *gate
	conn net.Conn
	// place is where the slot is in pending; nil once it is not.
	place *list.Element
}

// enter takes a slot for a connection that has yet to prove itself, or returns
// nil if limit slots are taken.
//
// Half of the slots at most are pending. The oldest makes room for the newest
// then, and not the other way round: a client that means it is through in
// milliseconds, and silent ones cannot shut it out by being there first. For the
// same reason a full gate turns the oldest out for the sake of who comes next.
func (g *gate) enter(conn net.Conn, limit int) *slot {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open >= limit {
		g.evictOldest()
		return nil
	}
	if g.pending.Len() >= max(1, limit/2) {
		g.evictOldest()
	}
	s := g.take(conn)
	s.place = g.pending.PushBack(s)
	return s
}

// enterProved takes a slot for a connection that need not prove anything, or
// returns nil if limit slots are taken.
func (g *gate) enterProved(conn net.Conn, limit int) *slot {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open >= limit {
		g.evictOldest()
		return nil
	}
	return g.take(conn)
}

func (g *gate) take(conn net.Conn) *slot {
	g.open++
	return &slot{gate: g, conn: conn}
}

// evictOldest closes the oldest pending connection. Its slot is free only once
// its handler has noticed, for until then its descriptor may be in use.
func (g *gate) evictOldest() {
	oldest := g.pending.Front()
	if oldest == nil {
		return
	}
	s := g.pending.Remove(oldest).(*slot)
	s.place = nil
	_ = s.conn.Close()
}

// prove makes the slot one that is not turned out for the sake of others.
func (s *slot) prove() {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.settle()
}

// leave gives the slot back.
func (s *slot) leave() {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.settle()
	s.gate.open--
}

func (s *slot) settle() {
	if s.place != nil {
		s.gate.pending.Remove(s.place)
		s.place = nil
	}
}

// slotVar is the name under which a connection's slot is among its variables.
const slotVar = "lock_slot"

const (
	// unlimitedDescriptors stands for no limit, and for one beyond all need.
	unlimitedDescriptors = 1 << 24
	// leastReserve is what is kept of a limit at least, though never more than
	// half of it. An accepted connection takes a descriptor before the gate sees
	// it, and the loop that accepts can be a time slice ahead of the gate, which
	// is a thousand connections or two. Listeners, logs, storage and HTTP come on
	// top.
	leastReserve = 4096
	// advisedDescriptors is the least limit with the whole reserve.
	advisedDescriptors = 2 * leastReserve
)

// roomInGate is how many slots the process has descriptors for.
func roomInGate() int { return room(descriptorLimit()) }

// room is how many of limit descriptors connections may take.
func room(limit int) int {
	reserve := max(limit/8, min(limit/2, leastReserve))
	return max(1, limit-reserve)
}

// warnOfFewDescriptors tells the operator what a low limit risks.
func warnOfFewDescriptors(log *zap.Logger) {
	if limit := descriptorLimit(); limit < advisedDescriptors {
		log.Warn("the limit of open files is low: a burst of connections that uses it up makes the listeners of layer4 stop accepting until the next reload; raise it (ulimit -n, LimitNOFILE)",
			zap.Int("limit", limit), zap.Int("advised", advisedDescriptors))
	}
}

// roomForConnections is how many clients may be served. The rest of the gate is
// for those that have not got so far, and those that are told that there are too
// many.
func roomForConnections() int { return max(1, roomInGate()*3/4) }
