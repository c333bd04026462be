package lockcore

import "time"

// waiter is an acquire in a queue. It is present while at least one connection
// can be answered, else away: away it keeps its place in line, is passed over,
// and ends with the grace.
type waiter struct {
	lock  *lock
	owner *Owner
	tag   uint64
	lease time.Duration
	// arrival is its place in line.
	arrival uint64
	queued  Instant
	// waitEnd and graceEnd are when it ends; Never for an unlimited wait and
	// while it is present. The earlier of them stands in Table.waits.
	waitEnd  Instant
	graceEnd Instant
	// asks are the connections to answer, the first usually the only one.
	asks   *ask
	oneAsk ask
	// prev and next link the queue's list that it is in, if it is in one.
	prev, next *waiter
	// place is where it stands in Table.waits, line where in queue.returned.
	place, line int32
}

func (w *waiter) setPlace(place int32) { w.place = place }

func (w *waiter) away() bool { return w.graceEnd != Never }

// ask is one connection's interest in a waiting acquire.
type ask struct {
	conn   Conn
	waiter *waiter
	// nextOfWaiter links the connections of one acquire.
	nextOfWaiter *ask
	// prevOfConn and nextOfConn link the acquires of one connection.
	prevOfConn, nextOfConn *ask
}

// acquireID names an acquire that can be repeated.
type acquireID struct {
	lock   *lock
	client string
	tag    uint64
}

// sameWaiting returns the waiting acquire of this client and tag, or nil.
func (t *Table) sameWaiting(l *lock, owner *Owner, tag uint64) *waiter {
	if l.queue == nil || !repeatable(owner, tag) {
		return nil
	}
	return t.acquires.m[acquireID{l, owner.Client, tag}]
}

// enqueue puts a new acquire at the end of the queue.
func (t *Table) enqueue(now Instant, l *lock, a *Acquire) {
	w := t.addWaiter(now, l, a.Owner, a.Tag)
	l.queue.append(w)
	t.addAsk(w, a.Conn)
	t.waitFor(now, w, a)
}

// addWaiter makes a waiter that is in no list yet.
func (t *Table) addWaiter(now Instant, l *lock, owner *Owner, tag uint64) *waiter {
	w := t.spareWaiters.get()
	t.arrivals++
	w.lock, w.owner, w.tag = l, owner, tag
	w.arrival, w.queued = t.arrivals, now
	w.waitEnd, w.graceEnd = Never, Never
	w.place, w.line = unplaced, unplaced
	if l.queue == nil {
		l.queue = t.spareQueues.get()
	}
	if repeatable(owner, tag) {
		t.acquires.set(acquireID{l, owner.Client, tag}, w)
	}
	return w
}

// waitFor sets the terms under which the acquire waits: its lease once it is
// granted, and from now on its wait.
func (t *Table) waitFor(now Instant, w *waiter, a *Acquire) {
	w.lease = a.Lease
	w.waitEnd = now.Add(a.Wait)
	t.setWaitDeadline(w)
	t.emit(Effect{
		Kind: Queued, Owner: w.owner, Acquire: w.tag, Key: w.lock.bytes(), Lease: a.Lease, Wait: a.Wait,
	})
}

// repeatWaiting takes up an acquire that waits: it keeps its place, is answered
// on this connection too, and waits anew. One that was away and finds the key
// free has it at once.
func (t *Table) repeatWaiting(now Instant, w *waiter, a *Acquire) {
	t.addAsk(w, a.Conn)
	w.owner = a.Owner
	if w.away() {
		w.lock.queue.comeBack(w)
	}
	switch {
	case !w.lock.held():
		w.lease = a.Lease
		t.grantWaiter(now, w)
	case a.Wait <= 0:
		t.timeOut(w)
	default:
		t.waitFor(now, w, a)
	}
}

// grantWaiter gives the free lock to a waiter, which is no longer one.
func (t *Table) grantWaiter(now Instant, w *waiter) {
	l := w.lock
	t.hold(now, l, w.owner, w.tag, w.lease)
	t.tell(w, t.granted(l, nil))
	t.unqueue(w)
}

// waitOver ends a waiter whose wait or grace is over: the earlier of them
// decides, however late it is noticed.
func (t *Table) waitOver(w *waiter) {
	if w.waitEnd <= w.graceEnd {
		t.timeOut(w)
	} else {
		t.abandon(w)
	}
}

func (t *Table) timeOut(w *waiter) {
	t.tell(w, Effect{Kind: TimedOut, Tag: w.tag, Owner: w.owner, Acquire: w.tag, Key: w.lock.bytes()})
	t.unqueue(w)
}

func (t *Table) abandon(w *waiter) {
	t.emit(Effect{Kind: Abandoned, Owner: w.owner, Acquire: w.tag, Key: w.lock.bytes()})
	t.unqueue(w)
}

// unanswerable is for a waiter that lost its last connection.
func (t *Table) unanswerable(now Instant, w *waiter) {
	if !repeatable(w.owner, w.tag) || t.limits.Grace <= 0 {
		t.abandon(w)
		return
	}
	t.goAway(w, t.graceEnd(now))
}

// graceEnd is when a grace that starts now ends. The longest one ends too:
// Never means that a waiter is present.
func (t *Table) graceEnd(now Instant) Instant {
	return min(now.Add(t.limits.Grace), Never-1)
}

func (t *Table) goAway(w *waiter, until Instant) {
	w.lock.queue.goAway(w)
	w.graceEnd = until
	t.setWaitDeadline(w)
}

// tell emits the effect once for each connection that waits for it, all but the
// first as echoes; with no connection once, so that it is on record.
func (t *Table) tell(w *waiter, e Effect) {
	if w.asks == nil {
		t.emit(e)
		return
	}
	for a := w.asks; a != nil; a = a.nextOfWaiter {
		e.Conn = a.conn
		t.emit(e)
		e.Echo = true
	}
}

// unqueue removes a waiter from wherever it is. A lock that nobody holds or
// waits for any more rests.
func (t *Table) unqueue(w *waiter) {
	l := w.lock
	for w.asks != nil {
		t.dropAsk(w.asks)
	}
	if w.place != unplaced {
		t.waits.remove(w.place)
	}
	if repeatable(w.owner, w.tag) {
		t.acquires.remove(acquireID{l, w.owner.Client, w.tag})
	}
	l.queue.remove(w)
	t.spareWaiters.put(w)
	if l.queue.size() == 0 {
		t.spareQueues.put(l.queue)
		l.queue = nil
		if !l.held() {
			t.rest(l)
		}
	}
}

// setWaitDeadline puts the earlier of wait and grace on the clock.
func (t *Table) setWaitDeadline(w *waiter) {
	switch at := min(w.waitEnd, w.graceEnd); {
	case at != Never:
		t.waits.set(w, w.place, at, t.nextSet())
	case w.place != unplaced:
		t.waits.remove(w.place)
	}
}

// addAsk has the waiter answered on the connection, once however often it asks.
func (t *Table) addAsk(w *waiter, conn Conn) {
	for a := w.asks; a != nil; a = a.nextOfWaiter {
		if a.conn == conn {
			return
		}
	}
	a := &w.oneAsk
	if w.oneAsk.conn != nil {
		a = new(ask)
	}
	*a = ask{conn: conn, waiter: w, nextOfWaiter: w.asks, nextOfConn: t.asks.m[conn]}
	w.asks = a
	if a.nextOfConn != nil {
		a.nextOfConn.prevOfConn = a
	}
	t.asks.set(conn, a)
}

// dropAsk unlinks an ask from its waiter and its connection.
func (t *Table) dropAsk(a *ask) {
	for at := &a.waiter.asks; *at != nil; at = &(*at).nextOfWaiter {
		if *at == a {
			*at = a.nextOfWaiter
			break
		}
	}
	if a.nextOfConn != nil {
		a.nextOfConn.prevOfConn = a.prevOfConn
	}
	switch {
	case a.prevOfConn != nil:
		a.prevOfConn.nextOfConn = a.nextOfConn
	case a.nextOfConn != nil:
		t.asks.set(a.conn, a.nextOfConn)
	default:
		t.asks.remove(a.conn)
	}
	*a = ask{}
}
