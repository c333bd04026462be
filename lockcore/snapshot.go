package lockcore

import (
	"errors"
	"time"
)

// Held is a held lock as it travels: to a state file or to another node. Times
// are durations, so that clocks need not agree.
type Held struct {
	Key   []byte
	Token uint64
	Owner *Owner
	// Tag is the tag of the acquire that holds the key.
	Tag uint64
	// Lease is its full length, Left what is left of it, Age how long the key
	// has been held.
	Lease, Left, Age time.Duration
}

// Waiting is a waiting acquire as it travels.
type Waiting struct {
	Key   []byte
	Owner *Owner
	Tag   uint64
	// Lease is its length once granted; Left what is left of the wait, Forever
	// without limit; Age how long it has waited.
	Lease, Left, Age time.Duration
	// Away: no connection could be answered.
	Away bool
}

// Survives reports whether the acquire means anything once its connections are
// gone: whether its client can repeat it.
func (w *Waiting) Survives() bool { return repeatable(w.Owner, w.Tag) }

// Errors of taking up a snapshot.
var (
	ErrHeldTwice   = errors.New("lockcore: a key is held twice")
	ErrWaitsTwice  = errors.New("lockcore: an acquire waits twice, or waits and holds")
	ErrBadSnapshot = errors.New("lockcore: a value out of range")
)

// Snapshot hands out every held lock and every waiting acquire: those of one
// key together, the holder first, then the queue in the order of arrival. It
// changes nothing, so what is due does not fire. Keys must not be changed. The
// order of the keys depends on nothing but what the table was told.
func (t *Table) Snapshot(now Instant, held func(*Held), waiting func(*Waiting)) {
	for i := range t.leases.heap {
		l := t.leases.heap[i].item
		held(&Held{
			Key: l.bytes(), Token: l.token, Owner: l.owner, Tag: l.tag,
			Lease: l.lease, Left: t.leaseEnd(l).Until(now), Age: now.Since(l.granted),
		})
		l.snapshotQueue(now, waiting)
	}
	// Whoever waits for a free key is away, and so has an end on the clock.
	for i := range t.waits.heap {
		if w := t.waits.heap[i].item; !w.lock.held() && w.lock.queue.firstAway == w {
			w.lock.snapshotQueue(now, waiting)
		}
	}
}

func (l *lock) snapshotQueue(now Instant, waiting func(*Waiting)) {
	if l.queue == nil {
		return
	}
	for _, w := range l.queue.inOrder() {
		waiting(&Waiting{
			Key: l.bytes(), Owner: w.owner, Tag: w.tag, Lease: w.lease,
			Left: w.waitEnd.Until(now), Age: now.Since(w.queued), Away: w.away(),
		})
	}
}

// RestoreHeld takes up a held lock, past the quota if need be: what was granted
// once is not refused later.
func (t *Table) RestoreHeld(now Instant, h *Held) error {
	if h.Token == 0 || h.Owner == nil || h.Lease <= 0 || h.Left < 0 || h.Age < 0 {
		return ErrBadSnapshot
	}
	l := t.locks.find(h.Key)
	switch {
	case l == nil:
		l = t.addLock(h.Key)
		t.quota.Force()
	case l.held():
		return ErrHeldTwice
	case t.sameWaiting(l, h.Owner, h.Tag) != nil:
		return ErrWaitsTwice
	case l.queue == nil:
		t.idle.remove(l)
		t.quota.Force()
	}
	l.token, l.owner, l.tag = h.Token, h.Owner, h.Tag
	l.lease, l.granted = h.Lease, now-Instant(h.Age)
	t.setLeaseEnd(l, now.Add(h.Left))
	return nil
}

// RestoreWaiting takes up a waiting acquire behind those taken up before it. It
// starts away: its client has the grace to repeat it.
func (t *Table) RestoreWaiting(now Instant, w *Waiting) error {
	if w.Owner == nil || !w.Survives() || w.Lease <= 0 || w.Left < 0 || w.Age < 0 {
		return ErrBadSnapshot
	}
	l := t.locks.find(w.Key)
	switch {
	case l == nil:
		l = t.addLock(w.Key)
		t.quota.Force()
	case t.sameWaiting(l, w.Owner, w.Tag) != nil, l.held() && l.sameHolder(w.Owner, w.Tag):
		return ErrWaitsTwice
	case !l.held() && l.queue == nil:
		t.idle.remove(l)
		t.quota.Force()
	}
	taken := t.addWaiter(now, l, w.Owner, w.Tag)
	taken.lease, taken.queued = w.Lease, now-Instant(w.Age)
	taken.waitEnd = now.Add(w.Left)
	taken.graceEnd = t.graceEnd(now)
	l.queue.addAway(taken)
	t.setWaitDeadline(taken)
	return nil
}
