package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// tick ends the lock at its deadline, and renews it before. It runs when the
// lock's timer fires, in a goroutine that lasts as long as a renewal does.
func (l *Lock) tick() {
	for l.due() {
		l.renew()
	}
}

// due reports whether to renew now; if not, it sees to what comes next.
func (l *Lock) due() bool {
	l.mu.Lock()
	now := l.client.now()
	switch {
	case l.err != nil:
	case now >= l.deadline:
		l.unreleased = true
		l.mu.Unlock()
		l.lose(ErrLeaseOver)
		return false
	case now >= l.renewAt:
		l.mu.Unlock()
		return true
	default:
		l.resetTimer()
	}
	l.mu.Unlock()
	return false
}

// renew keeps the lock for another lease. Only the server's word that it is not
// held is a loss; anything else is tried again until the deadline.
func (l *Lock) renew() {
	c := l.client
	if c.begin() != nil {
		l.renewLater(nil) // Close is about to end the lock
		return
	}
	defer c.end()
	ctx, cancel := context.WithDeadline(l.Context(), l.Deadline())
	defer cancel()
	err := l.keep(ctx, 0)
	switch {
	case err == nil:
		c.count.renewed.Add(1)
	case l.Err() == nil:
		c.count.renewalFailures.Add(1)
		c.o.log.Warn("could not renew a lock", "key", l.key, "token", l.token, "error", err)
		l.renewLater(err)
	}
}

// renewLater puts a renewal off that failed.
func (l *Lock) renewLater(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.client.now()
	pause := int64(min(retryEvery, l.lease/10+time.Millisecond))
	if errors.Is(err, ErrRefused) {
		pause = max(pause, (l.deadline-now)/10)
	}
	l.renewAt = now + pause
}

// leaseDue is the lease to renew for, or 0 if a keep made that unnecessary.
func (l *Lock) leaseDue() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client.now() < l.renewAt {
		return 0
	}
	return l.lease
}

func (l *Lock) currentLease() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease
}

// Keep makes the lease end at now + lease, whether that is later or earlier than
// it was, and renewals, if any, are for that lease from now on.
//
// lease must be above 0; a fraction of a millisecond counts as a whole one. It
// returns [ErrLost] if the lock is lost, also if the server says so now;
// [ErrReleased] if it was released or detached; [ErrRefused] if the server does
// not allow the lease. An error that matches ctx's, or [ErrUnavailable], means
// that no answer came: the lock goes on until the earlier of both ends.
func (l *Lock) Keep(ctx context.Context, lease time.Duration) error {
	lease, err := wireDuration("lease", lease)
	if err == nil {
		err = l.keepNow(ctx, lease)
	}
	if err != nil {
		return fmt.Errorf("keep %q: %w", l.key, err)
	}
	return nil
}

func (l *Lock) keepNow(ctx context.Context, lease time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.Err(); err != nil {
		return err
	}
	if err := l.client.begin(); err != nil {
		return err
	}
	defer l.client.end()
	return l.keep(ctx, lease)
}

// keep asks for lease; 0 is that of the renewals, if one is still due. Of two at
// once the second waits: the server's last word must be known.
func (l *Lock) keep(ctx context.Context, lease time.Duration) error {
	if err := l.beginKeep(ctx); err != nil {
		return err
	}
	defer func() { <-l.keeping }()
	if lease == 0 {
		if lease = l.leaseDue(); lease == 0 {
			return nil
		}
	}
	q := question{op: wire.OpKeep, key: l.key, token: l.token, lease: lease, client: l.client}
	got, err := l.askToKeep(ctx, &q)
	switch {
	case err != nil && q.tries > 0:
		l.mayEnd(q.first + int64(lease))
		return err
	case err != nil:
		return err
	case got.kind == wire.KindError:
		return l.refused(q.refusal(&got))
	}
	return l.kept(q.sent, lease)
}

// askToKeep asks q. A keep for less that is still on its way must not overtake it,
// so the connections of such are given up first.
func (l *Lock) askToKeep(ctx context.Context, q *question) (answer, error) {
	overtaking := q.lease > l.shortest
	if overtaking {
		q.gone = l.doubtful
	}
	q.patience = l.client.o.unavailableAfter
	q.attempt = max(time.Millisecond, min(attemptFor, l.currentLease()/6))
	got, err := q.ask(ctx)
	if err == nil && overtaking {
		l.doubtful = nil
	}
	l.doubt(q)
	return got, err
}

// doubt notes where tries of q may be acted on yet.
func (l *Lock) doubt(q *question) {
	if len(q.unanswered) == 0 {
		return
	}
	if l.doubtful == nil || q.lease < l.shortest {
		l.shortest = q.lease
	}
	l.doubtful = append(l.doubtful, q.unanswered...)
	l.doubtful = l.doubtful[max(0, len(l.doubtful)-maxGone):]
}

// beginKeep waits for a keep that is under way.
func (l *Lock) beginKeep(ctx context.Context) error {
	l.mu.Lock()
	if l.keeping == nil {
		l.keeping = make(chan struct{}, 1)
	}
	keeping := l.keeping
	l.mu.Unlock()
	select {
	case keeping <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kept notes the new end, unless the lock has ended meanwhile.
func (l *Lock) kept(sent int64, lease time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	l.lease, l.deadline = lease, sent+int64(lease)
	l.renewAt = noLimit
	if l.renews {
		l.renewAt = sent + int64(lease/3)
	}
	l.resetTimer()
	return nil
}

// mayEnd notes that the lease may end at an earlier moment than was known.
func (l *Lock) mayEnd(at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && at < l.deadline {
		l.deadline = at
		l.resetTimer()
	}
}

// refused ends the lock if that is what the server's refusal means.
func (l *Lock) refused(err error) error {
	if notHeld := asNotHeld(err); notHeld != nil {
		return l.lose(notHeld)
	}
	return err
}

func asNotHeld(err error) *NotHeldError {
	var notHeld *NotHeldError
	errors.As(err, &notHeld)
	return notHeld
}
