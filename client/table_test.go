package client_test

import (
	"slices"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// table is a small lock table as the protocol describes it. Its owner's mutex
// guards it.
type table struct {
	token uint64
	locks map[string]*lock
	// grants says which client each token was granted to, for ever.
	grants     map[uint64]string
	grace      time.Duration
	maxLease   time.Duration
	maxWaiters int
	// granted and expired count what happened.
	granted, expired int
}

type lock struct {
	key   string
	token uint64
	owner acquireID
	end   time.Time
	queue []*waiter
}

// acquireID names an acquire that can be repeated.
type acquireID struct {
	client string
	tag    uint64
}

type waiter struct {
	acquireID
	lease time.Duration
	// waitEnd and graceEnd are zero for never.
	waitEnd, graceEnd time.Time
	sessions          []*session
}

func (w *waiter) away() bool { return len(w.sessions) == 0 }

func newTable() *table {
	return &table{
		token: 1 << 60, locks: make(map[string]*lock), grants: make(map[uint64]string),
		grace: 5 * time.Second, maxLease: time.Hour, maxWaiters: 1000,
	}
}

func (t *table) lockOf(key string) *lock {
	l := t.locks[key]
	if l == nil {
		l = &lock{key: key}
		t.locks[key] = l
	}
	return l
}

func (t *table) tidy(l *lock) {
	if l.token == 0 && len(l.queue) == 0 {
		delete(t.locks, l.key)
	}
}

func (l *lock) waiting(id acquireID) *waiter {
	i := slices.IndexFunc(l.queue, func(w *waiter) bool { return w.acquireID == id })
	if i < 0 {
		return nil
	}
	return l.queue[i]
}

func (l *lock) remove(w *waiter) {
	l.queue = slices.DeleteFunc(l.queue, func(other *waiter) bool { return other == w })
}

// apply carries out one request about a key.
func (t *table) apply(s *session, r *wire.Request) {
	l := t.lockOf(string(r.Key))
	defer t.tidy(l)
	switch r.Op {
	case wire.OpAcquire:
		t.acquire(s, l, r)
	case wire.OpRelease:
		if s.owns(l, r) {
			t.free(l)
			s.answer(r, &wire.Reply{Kind: wire.KindReleased, Token: r.Token})
			t.pass(l)
		}
	case wire.OpKeep:
		if s.owns(l, r) {
			l.end = time.Now().Add(r.Lease)
			s.answer(r, &wire.Reply{Kind: wire.KindKept, Token: r.Token})
		}
	case wire.OpCancel:
		t.cancel(l, acquireID{s.client, r.Target})
		s.answer(r, &wire.Reply{Kind: wire.KindCancelled, Target: r.Target})
	case wire.OpQuery:
		t.query(s, l, r)
	}
}

func (t *table) acquire(s *session, l *lock, r *wire.Request) {
	id := acquireID{s.client, r.Tag}
	same := l.waiting(id)
	switch {
	case r.Lease > t.maxLease:
		s.refuse(r, wire.CodeBadLease)
	case same != nil:
		t.repeatWaiting(s, l, same, r)
	case l.token != 0 && l.owner == id && s.client != "" && r.Tag != 0:
		if end := time.Now().Add(r.Lease); end.After(l.end) {
			l.end = end
		}
		s.grant(r.Tag, l)
	case l.token == 0:
		t.hold(l, id, r.Lease)
		s.grant(r.Tag, l)
	case r.Wait <= 0:
		s.timeOut(r.Tag, l.key)
	case len(l.queue) >= t.maxWaiters:
		s.refuse(r, wire.CodeTooManyWaiters)
	default:
		w := &waiter{acquireID: id, lease: r.Lease, waitEnd: waitEnd(r.Wait), sessions: []*session{s}}
		l.queue = append(l.queue, w)
	}
}

func waitEnd(wait time.Duration) time.Time {
	if wait == wire.Forever {
		return time.Time{}
	}
	return time.Now().Add(wait)
}

func (t *table) repeatWaiting(s *session, l *lock, w *waiter, r *wire.Request) {
	if !slices.Contains(w.sessions, s) {
		w.sessions = append(w.sessions, s)
	}
	w.graceEnd, w.lease = time.Time{}, r.Lease
	switch {
	case l.token == 0:
		t.grantWaiter(l, w)
	case r.Wait <= 0:
		t.timeOut(l, w)
	default:
		w.waitEnd = waitEnd(r.Wait)
	}
}

func (t *table) hold(l *lock, id acquireID, lease time.Duration) {
	t.token++
	t.granted++
	l.token, l.owner, l.end = t.token, id, time.Now().Add(lease)
	t.grants[l.token] = id.client
}

func (t *table) grantWaiter(l *lock, w *waiter) {
	l.remove(w)
	t.hold(l, w.acquireID, w.lease)
	for _, s := range w.sessions {
		s.grant(w.tag, l)
	}
}

func (t *table) timeOut(l *lock, w *waiter) {
	l.remove(w)
	for _, s := range w.sessions {
		s.timeOut(w.tag, l.key)
	}
}

func (t *table) free(l *lock) { l.token, l.owner, l.end = 0, acquireID{}, time.Time{} }

// pass gives a free lock to the first waiter that is there.
func (t *table) pass(l *lock) {
	for _, w := range l.queue {
		if !w.away() {
			t.grantWaiter(l, w)
			return
		}
	}
}

func (t *table) cancel(l *lock, id acquireID) {
	if w := l.waiting(id); w != nil {
		l.remove(w)
	}
	if l.token != 0 && l.owner == id {
		t.free(l)
		t.pass(l)
	}
}

func (t *table) query(s *session, l *lock, r *wire.Request) {
	reply := &wire.Reply{Kind: wire.KindQueried, Token: l.token, Waiters: len(l.queue)}
	if l.token != 0 {
		reply.Left = time.Until(l.end)
	}
	s.answer(r, reply)
}

// disconnect takes a session out of every queue.
func (t *table) disconnect(s *session) {
	for _, l := range t.locks {
		for _, w := range slices.Clone(l.queue) {
			t.leave(l, w, s)
		}
		t.tidy(l)
	}
}

func (t *table) leave(l *lock, w *waiter, s *session) {
	if !slices.Contains(w.sessions, s) {
		return
	}
	w.sessions = slices.DeleteFunc(slices.Clone(w.sessions), func(other *session) bool { return other == s })
	switch {
	case !w.away():
	case w.client == "" || w.tag == 0:
		l.remove(w)
	default:
		w.graceEnd = time.Now().Add(t.grace)
	}
}

// sendAway has every waiter ask again, as after a move of the active role.
func (t *table) sendAway() {
	for _, l := range t.locks {
		for _, w := range l.queue {
			w.sessions, w.graceEnd = nil, time.Now().Add(t.grace)
		}
	}
}

// due returns the next deadline, and the key and waiter it is about; the waiter
// is nil for a lease.
func (t *table) due() (at time.Time, l *lock, w *waiter) {
	earlier := func(end time.Time) bool { return !end.IsZero() && (at.IsZero() || end.Before(at)) }
	for _, lock := range t.locks {
		if earlier(lock.end) {
			at, l, w = lock.end, lock, nil
		}
		for _, waiting := range lock.queue {
			for _, end := range []time.Time{waiting.waitEnd, waiting.graceEnd} {
				if earlier(end) {
					at, l, w = end, lock, waiting
				}
			}
		}
	}
	return at, l, w
}

// sweep lets everything end that is due and returns how long until the next.
func (t *table) sweep() (next time.Duration) {
	for {
		at, l, w := t.due()
		switch {
		case at.IsZero():
			return -1
		case at.After(time.Now()):
			return time.Until(at)
		case w == nil:
			t.expired++
			t.free(l)
			t.pass(l)
		case at.Equal(w.waitEnd):
			t.timeOut(l, w)
		default:
			l.remove(w)
		}
		t.tidy(l)
	}
}
