package lockcore

import "fmt"

// Check verifies what must be true of a table between two calls. It looks at
// everything, so it is for tests. The errors start with the name of the
// invariant that does not hold.
func (t *Table) Check() error {
	c := checker{t: t}
	for _, l := range t.locks.locks {
		if l != nil {
			c.lock(l.key, l)
		}
	}
	for conn, a := range t.asks.m {
		c.asksOf(conn, a)
	}
	c.heaps()
	c.that(len(t.acquires.m) == c.named, "no-leak: %d acquires indexed, %d wait", len(t.acquires.m), c.named)
	c.that(c.asked == c.listed, "no-leak: %d asks by waiter, %d by connection", c.asked, c.listed)
	return c.err
}

type checker struct {
	t   *Table
	err error
	// These count what was seen: locks held, waiters with an end, acquires with
	// a name, asks found by waiter and by connection.
	held, timed, named, asked, listed int
}

func (c *checker) that(ok bool, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *checker) lock(key string, l *lock) {
	c.that(c.t.locks.find(l.bytes()) == l, "no-leak: key %q is not found", key)
	if l.held() {
		c.held++
		c.that(c.t.leases.heap[l.place].item == l, "one-holder: lease of %q misplaced", key)
		c.that(l.owner != nil && l.lease > 0, "one-holder: %q held by nobody", key)
	}
	switch {
	case l.queue != nil:
		c.queue(key, l)
	case !l.held():
		c.that(c.t.idle.slots[l.place] == l, "no-leak: %q is neither held, waited for, nor idle", key)
	}
}

func (c *checker) queue(key string, l *lock) {
	q := l.queue
	c.that(q.size() > 0, "no-leak: %q has an empty queue", key)
	c.that(l.held() || q.front() == nil, "no-stall: %q is free and a waiter is present", key)
	present, arrival := 0, uint64(0)
	for w := q.first; w != nil; w = w.next {
		c.that(w.arrival > arrival, "fifo: %q is out of order", key)
		c.that(w.next != nil || q.last == w, "fifo: the last waiter for %q is not the last", key)
		c.that(w.line == unplaced, "fifo: a waiter for %q stands in line twice", key)
		arrival = w.arrival
		present++
		c.present(l, w)
	}
	for i := range q.returned.heap {
		w := q.returned.heap[i].item.waiter
		c.that(w.line == int32(i), "fifo: a waiter for %q came back to the wrong place", key)
		present++
		c.present(l, w)
	}
	away := 0
	for w := q.firstAway; w != nil; w = w.next {
		c.that(w.away() && w.asks == nil, "no-leak: a waiter for %q is away with a connection", key)
		away++
		c.waiter(l, w)
	}
	c.that(present == q.present() && away == q.absent, "no-leak: %q miscounts its waiters", key)
}

func (c *checker) present(l *lock, w *waiter) {
	c.that(!w.away() && w.asks != nil, "no-leak: a waiter for %q is present without a connection", l.key)
	c.waiter(l, w)
}

func (c *checker) waiter(l *lock, w *waiter) {
	c.that(w.lock == l, "no-leak: a waiter in the wrong queue")
	if repeatable(w.owner, w.tag) {
		c.named++
		c.that(c.t.acquires.m[acquireID{l, w.owner.Client, w.tag}] == w, "no-leak: an acquire is not found by its name")
	}
	if at := min(w.waitEnd, w.graceEnd); at != Never {
		c.timed++
		c.that(w.place != unplaced && c.t.waits.heap[w.place].item == w && c.t.waits.heap[w.place].at == at,
			"no-leak: a wait will not end when it should")
	}
	for a := w.asks; a != nil; a = a.nextOfWaiter {
		c.asked++
		c.that(a.waiter == w, "no-leak: an ask belongs to another waiter")
	}
}

func (c *checker) asksOf(conn Conn, a *ask) {
	var prev *ask
	for ; a != nil; a = a.nextOfConn {
		c.listed++
		c.that(a.conn == conn && a.prevOfConn == prev, "no-leak: the asks of a connection are mislinked")
		prev = a
	}
}

func (c *checker) heaps() {
	c.that(len(c.t.leases.heap) == c.held, "one-holder: %d leases, %d held", len(c.t.leases.heap), c.held)
	c.that(len(c.t.waits.heap) == c.timed, "no-leak: %d waits on the clock, %d should be", len(c.t.waits.heap), c.timed)
}
