package lockcore

import (
	"time"
	"unsafe"
)

// lock is one key that is held, or waited for, or idle. It is kept small: there
// may be millions. Its states:
//
//	held    token != 0, its lease's end stands in Table.leases
//	free    token == 0, in Table.locks only while acquires that are away wait
//	        for it
//	idle    token == 0, nobody waits: kept for a moment in the idleRing
type lock struct {
	key   string
	token uint64
	owner *Owner
	// tag is the tag of the acquire that holds the key.
	tag uint64
	// lease is its full length, as granted or last kept.
	lease   time.Duration
	granted Instant
	// queue is nil while nobody waits.
	queue *queue
	// place is where the lease stands in Table.leases, or the slot of the
	// idleRing; a lock is never in both.
	place int32
}

func (l *lock) setPlace(place int32) { l.place = place }

func (l *lock) held() bool { return l.token != 0 }

// bytes is the key for an effect to carry without a copy. Nothing may write to
// it: strings do not change.
func (l *lock) bytes() []byte {
	return unsafe.Slice(unsafe.StringData(l.key), len(l.key))
}

// refusal says why a token does not own the lock; 0 if it does. l may be nil.
func (l *lock) refusal(token uint64) Refusal {
	switch {
	case l == nil || !l.held():
		return NotHeld
	case l.token != token:
		return Taken
	default:
		return 0
	}
}

// sameHolder reports whether the holder is this very acquire, so that a
// repetition of it is no new one.
func (l *lock) sameHolder(owner *Owner, tag uint64) bool {
	return l.tag == tag && repeatable(owner, tag) && l.owner.Client == owner.Client
}

// repeatable reports whether an acquire has a name by which its client can
// repeat or cancel it.
func repeatable(owner *Owner, tag uint64) bool {
	return tag != 0 && owner.Client != ""
}

func (l *lock) waiters() int {
	if l.queue == nil {
		return 0
	}
	return l.queue.size()
}

// acquireNew grants a key that the table does not know.
func (t *Table) acquireNew(now Instant, a *Acquire) {
	if !t.quota.Take() {
		t.emit(refuse(a, TooManyKeys))
		return
	}
	t.grantTo(now, t.addLock(a.Key), a)
}

// acquireFree grants a key that the table knows and nobody holds: one that is
// idle, or whose waiters are all away and passed over.
func (t *Table) acquireFree(now Instant, l *lock, a *Acquire) {
	if l.queue == nil {
		if !t.quota.Take() {
			t.emit(refuse(a, TooManyKeys))
			return
		}
		t.idle.remove(l)
	}
	t.grantTo(now, l, a)
}

// acquireHeld queues for a key that somebody else holds.
func (t *Table) acquireHeld(now Instant, l *lock, a *Acquire) {
	switch {
	case a.Wait <= 0:
		t.emit(Effect{Kind: TimedOut, Conn: a.Conn, Tag: a.Tag, Owner: a.Owner, Acquire: a.Tag, Key: a.Key})
	case l.waiters() >= t.limits.MaxWaiters:
		t.emit(refuse(a, TooManyWaiters))
	default:
		t.enqueue(now, l, a)
	}
}

// repeatHeld answers an acquire that was granted before: its answer may have
// been lost. The lease never gets shorter by it.
func (t *Table) repeatHeld(now Instant, l *lock, a *Acquire) {
	if end := now.Add(a.Lease); end > t.leaseEnd(l) {
		l.lease = a.Lease
		t.setLeaseEnd(l, end)
	}
	l.owner = a.Owner
	t.emit(Effect{
		Kind: Regranted, Conn: a.Conn, Tag: a.Tag, Owner: a.Owner, Acquire: a.Tag,
		Key: l.bytes(), Token: l.token, Lease: t.leaseEnd(l).Until(now),
	})
}

func refuse(a *Acquire, why Refusal) Effect {
	return Effect{Kind: Refused, Op: OpAcquire, Refusal: why, Conn: a.Conn, Tag: a.Tag, Acquire: a.Tag, Key: a.Key}
}

func (t *Table) grantTo(now Instant, l *lock, a *Acquire) {
	t.hold(now, l, a.Owner, a.Tag, a.Lease)
	t.emit(t.granted(l, a.Conn))
}

// hold makes the acquire the holder of a free lock, under a new token. The
// lease starts now, however long ago it was asked for.
func (t *Table) hold(now Instant, l *lock, owner *Owner, tag uint64, lease time.Duration) {
	if l.held() {
		panic("lockcore: grant of a held key")
	}
	l.token = t.tokens.Next()
	l.owner, l.tag = owner, tag
	l.lease, l.granted = lease, now
	t.setLeaseEnd(l, now.Add(lease))
}

func (t *Table) granted(l *lock, conn Conn) Effect {
	return Effect{
		Kind: Granted, Conn: conn, Tag: l.tag, Owner: l.owner, Acquire: l.tag,
		Key: l.bytes(), Token: l.token, Lease: l.lease,
	}
}

// expire frees a lock whose lease ran out and passes it on.
func (t *Table) expire(now Instant, l *lock) {
	present := 0
	if l.queue != nil {
		present = l.queue.present()
	}
	t.emit(Effect{
		Kind: Expired, Owner: l.owner, Acquire: l.tag, Key: l.bytes(), Token: l.token, Waiters: present,
	})
	t.free(l)
	t.pass(now, l)
}

// release frees a held lock and passes it on; conn is answered if not nil.
func (t *Table) release(now Instant, l *lock, conn Conn, tag uint64) {
	t.emit(Effect{
		Kind: Released, Conn: conn, Tag: tag, Owner: l.owner, Acquire: l.tag, Key: l.bytes(), Token: l.token,
	})
	t.free(l)
	t.pass(now, l)
}

// free ends a hold. The caller passes the lock on.
func (t *Table) free(l *lock) {
	t.leases.remove(l.place)
	l.token, l.owner, l.tag = 0, nil, 0
}

// pass gives a free lock to the first waiter present, in the same step that
// freed it: no third request can come between. With nobody to give it to, the
// lock rests.
func (t *Table) pass(now Instant, l *lock) {
	if l.queue == nil {
		t.rest(l)
	} else if next := l.queue.front(); next != nil {
		t.grantWaiter(now, next)
	}
}

// rest takes a lock that nobody holds or waits for out of the count, and keeps
// it idle for a moment.
func (t *Table) rest(l *lock) {
	t.quota.Return()
	if evicted := t.idle.add(l); evicted != nil {
		t.forget(evicted)
	}
}

func (t *Table) leaseEnd(l *lock) Instant { return t.leases.heap[l.place].at }

func (t *Table) setLeaseEnd(l *lock, end Instant) {
	t.leases.set(l, l.place, end, t.nextSet())
}

func (t *Table) addLock(key []byte) *lock {
	l := t.spareLocks.get()
	l.key, l.place = string(key), unplaced
	t.locks.add(l)
	return l
}

// forget drops an idle lock.
func (t *Table) forget(l *lock) {
	t.locks.remove(l)
	t.spareLocks.put(l)
}
