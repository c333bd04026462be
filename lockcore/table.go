package lockcore

import "time"

// Tokens issues fencing tokens. Next returns a token greater than every one
// before it; the table calls it once for each grant.
type Tokens interface {
	Next() uint64
}

// Quota bounds how many keys all tables of a node may hold or queue for. Take
// reports whether one more may be; each Take that succeeded is given back by
// one Return. Force takes one more even past the bound.
type Quota interface {
	Take() bool
	Force()
	Return()
}

// Limits are what a configuration may change while a table is in use.
type Limits struct {
	// MaxWaiters is how many acquires may wait for one key.
	MaxWaiters int
	// Grace is how long an acquire that can be repeated outlives its connection.
	Grace time.Duration
}

// Table is a set of locks. It is pure: every call takes the present instant
// (which must not go backwards from call to call), decides, and returns what
// was decided, in order; a call first lets every deadline fire that is due, so
// an expiry is handled in one place however it is noticed. Due says when the
// table wants to be woken if nothing else happens.
//
// A Table is not safe for concurrent use.
type Table struct {
	tokens Tokens
	quota  Quota
	limits Limits

	// locks holds every key that is held or waited for, and the idle ones.
	locks index

	leases deadlines[*lock]
	waits  deadlines[*waiter]
	// set counts deadlines set, so that equal ones fire in that order.
	set uint64
	// arrivals counts acquires queued; it is what first in, first out means.
	arrivals uint64

	// acquires finds a waiting acquire that is repeated or cancelled.
	acquires shrinking[acquireID, *waiter]
	// asks finds the acquires that wait for an answer on a connection: the
	// first of a list.
	asks shrinking[Conn, *ask]

	idle idleRing

	spareLocks   spares[lock]
	spareWaiters spares[waiter]
	spareQueues  spares[queue]

	effects []Effect
}

// maxDisconnected is how many acquires one call of Disconnect deals with.
const maxDisconnected = 1000

// maxKeptEffects is the capacity above which the buffer of effects is not kept
// for the next call: a million leases that end at once are rare.
const maxKeptEffects = 1024

// NewTable returns an empty table.
func NewTable(tokens Tokens, quota Quota, limits Limits) *Table {
	return &Table{
		tokens:   tokens,
		quota:    quota,
		limits:   limits,
		locks:    newIndex(),
		acquires: newShrinking[acquireID, *waiter](),
		asks:     newShrinking[Conn, *ask](),
	}
}

// SetLimits changes the limits for what comes; what waits or is away stays.
func (t *Table) SetLimits(limits Limits) { t.limits = limits }

// Due returns when the next lease, wait or grace ends; Never if none will.
func (t *Table) Due() Instant {
	at := Never
	if d := t.leases.first(); d != nil {
		at = d.at
	}
	if d := t.waits.first(); d != nil {
		at = min(at, d.at)
	}
	return at
}

// Tick lets what is due fire, and nothing else.
func (t *Table) Tick(now Instant) []Effect {
	t.begin(now)
	return t.effects
}

// Acquire grants the key, queues the acquire, or answers that it is already
// known, timed out, or refused.
func (t *Table) Acquire(now Instant, a *Acquire) []Effect {
	t.begin(now)
	l := t.locks.find(a.Key)
	if l == nil {
		t.acquireNew(now, a)
	} else if w := t.sameWaiting(l, a.Owner, a.Tag); w != nil {
		t.repeatWaiting(now, w, a)
	} else if !l.held() {
		t.acquireFree(now, l, a)
	} else if l.sameHolder(a.Owner, a.Tag) {
		t.repeatHeld(now, l, a)
	} else {
		t.acquireHeld(now, l, a)
	}
	return t.effects
}

// Release frees the key and passes it on.
func (t *Table) Release(now Instant, r *Release) []Effect {
	t.begin(now)
	l := t.locks.find(r.Key)
	if why := l.refusal(r.Token); why != 0 {
		t.emit(Effect{Kind: Refused, Op: OpRelease, Refusal: why, Conn: r.Conn, Tag: r.Tag, Key: r.Key, Token: r.Token})
		return t.effects
	}
	t.release(now, l, r.Conn, r.Tag)
	return t.effects
}

// Keep moves the end of the lease to k.Lease from now.
func (t *Table) Keep(now Instant, k *Keep) []Effect {
	t.begin(now)
	l := t.locks.find(k.Key)
	if why := l.refusal(k.Token); why != 0 {
		t.emit(Effect{Kind: Refused, Op: OpKeep, Refusal: why, Conn: k.Conn, Tag: k.Tag, Key: k.Key, Token: k.Token})
		return t.effects
	}
	l.lease = k.Lease
	t.setLeaseEnd(l, now.Add(k.Lease))
	t.emit(Effect{Kind: Kept, Conn: k.Conn, Tag: k.Tag, Key: l.bytes(), Token: l.token, Lease: k.Lease})
	return t.effects
}

// Cancel makes sure that the acquire of the target tag neither waits nor holds.
func (t *Table) Cancel(now Instant, c *Cancel) []Effect {
	t.begin(now)
	if l := t.locks.find(c.Key); l != nil {
		if w := t.sameWaiting(l, c.Owner, c.Target); w != nil {
			t.emit(Effect{Kind: Withdrawn, Owner: w.owner, Acquire: w.tag, Key: l.bytes()})
			t.unqueue(w)
		} else if l.held() && l.sameHolder(c.Owner, c.Target) {
			t.release(now, l, nil, 0)
		}
	}
	t.emit(Effect{Kind: Cancelled, Conn: c.Conn, Tag: c.Tag, Owner: c.Owner, Acquire: c.Target, Key: c.Key})
	return t.effects
}

// Query tells who holds the key and how many wait for it, the absent ones
// included.
func (t *Table) Query(now Instant, q *Query) []Effect {
	t.begin(now)
	e := Effect{Kind: Queried, Conn: q.Conn, Tag: q.Tag, Key: q.Key}
	if l := t.locks.find(q.Key); l != nil {
		e.Waiters = l.waiters()
		if l.held() {
			e.Token = l.token
			e.Lease = t.leaseEnd(l).Until(now)
		}
	}
	t.emit(e)
	return t.effects
}

// Disconnect says that nothing can be answered on the connection any more. An
// acquire that waited only there goes away for the grace if it can be repeated,
// and ends if it cannot. Holders lose nothing.
//
// One call deals with maxDisconnected acquires at most, so that a client with a
// great many of them holds up nobody for long: call it until [Table.Waits] is
// false.
func (t *Table) Disconnect(now Instant, conn Conn) []Effect {
	t.begin(now)
	for range maxDisconnected {
		a := t.asks.m[conn]
		if a == nil {
			break
		}
		w := a.waiter
		t.dropAsk(a)
		if w.asks == nil {
			t.unanswerable(now, w)
		}
	}
	return t.effects
}

// begin starts a call: the effects of the one before are over, and what is due
// fires in the order it was due.
func (t *Table) begin(now Instant) {
	if cap(t.effects) > maxKeptEffects {
		t.effects = nil
	}
	t.effects = t.effects[:0]
	for {
		lease, wait := t.leases.first(), t.waits.first()
		switch {
		case lease != nil && lease.at <= now && (wait == nil || earlier(lease.at, lease.seq, wait.at, wait.seq)):
			t.expire(now, lease.item)
		case wait != nil && wait.at <= now:
			t.waitOver(wait.item)
		default:
			return
		}
	}
}

func (t *Table) emit(e Effect) { t.effects = append(t.effects, e) }

// nextSet numbers a deadline that is being set.
func (t *Table) nextSet() uint64 {
	t.set++
	return t.set
}

// Waits reports whether an acquire waits for its answer on the connection.
func (t *Table) Waits(conn Conn) bool { return t.asks.m[conn] != nil }
