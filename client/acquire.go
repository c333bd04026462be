package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

const (
	// settled is how long a connection must have lasted for an acquire that waited
	// on it to search afresh: it was in good hands.
	settled = time.Second
	// forgottenAfter is when a server has dropped a waiter whose connection it does
	// not see any more: client_timeout and reconnect_grace.
	forgottenAfter = 20 * time.Second
	// maxGone bounds the connections that an acquire gives up.
	maxGone = 256
)

// Acquire waits for key and returns the lock. By default it waits as long as ctx
// allows, for a lease of [DefaultLease] that is renewed at a third of it until the
// lock is released, detached or lost: see [WithWait], [WithLease] and
// [WithoutRenewal]. The lock does not end with ctx.
//
// Locks are not reentrant: who acquires what it holds waits for itself.
//
// It returns [ErrTimeout] if the key was not granted within [WithWait];
// [ErrUnavailable] if no server could be asked (see [WithUnavailableAfter]);
// [ErrRefused] if the server refused; [ErrClosed]; or an error that matches that
// of ctx. Then nothing is held and nothing waits. If ctx has a deadline the call
// returns by then; it withdraws the acquire at the server a little before. If no
// server answers, it goes on withdrawing it in the background.
func (c *Client) Acquire(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	return c.acquire(ctx, key, wire.Forever, opts)
}

// TryAcquire is Acquire that does not wait for a holder: it returns [ErrTimeout]
// if somebody holds the key or waits for it. Like every call, it does wait for a
// server.
func (c *Client) TryAcquire(ctx context.Context, key string, opts ...LockOption) (*Lock, error) {
	return c.acquire(ctx, key, wire.Try, opts)
}

func (c *Client) acquire(ctx context.Context, key string, wait time.Duration, opts []LockOption) (*Lock, error) {
	l, err := c.tryToAcquire(ctx, key, wait, opts)
	if err != nil {
		return nil, fmt.Errorf("acquire %q: %w", key, err)
	}
	return l, nil
}

func (c *Client) tryToAcquire(ctx context.Context, key string, wait time.Duration, opts []LockOption) (*Lock, error) {
	o, err := makeLockOptions(wait, opts)
	if err != nil {
		return nil, err
	}
	if err := checkKey(wire.OpAcquire, key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.begin(); err != nil {
		return nil, err
	}
	defer c.end()
	a := acquisition{client: c, key: key, o: o, values: ctx, began: c.now()}
	a.patience = c.o.unavailableAfter
	a.call = c.newCall(wire.OpAcquire, c.tag(), key)
	defer c.free(a.call)
	a.limitByContext(ctx)
	return a.run(ctx)
}

// acquisition is one acquire: it keeps its tag on whatever connection it is sent,
// so that for the server it is the same all the time.
type acquisition struct {
	search
	client *Client
	key    string
	o      lockOptions
	values context.Context // of the call, for the lock
	call   *call
	began  int64
	// giveUpAt is when to withdraw so as to return by the deadline of the context;
	// noLimit if that has none. cut says that the wait sent was that of the context.
	giveUpAt int64
	cut      bool
	// conn is where it was sent last, gone are the connections where it was sent
	// before and that are closed.
	conn *conn
	gone []uint64
}

// limitByContext leaves a twentieth of a second at most for a withdrawal.
func (a *acquisition) limitByContext(ctx context.Context) {
	a.giveUpAt = noLimit
	if deadline, ok := ctx.Deadline(); ok {
		left := deadline.Sub(a.client.born) - time.Duration(a.began)
		a.giveUpAt = a.began + int64(left-min(left/10, 50*time.Millisecond))
	}
}

func (a *acquisition) run(ctx context.Context) (*Lock, error) {
	for {
		n, err := a.search.conn(ctx, a.client, a.call.req.Tag)
		if err != nil {
			return nil, a.withdraw(ctx, err)
		}
		a.prepare()
		if n.send(ctx, a.call, a.gone) != nil {
			if err := a.notSent(ctx, n); err != nil {
				return nil, a.withdraw(ctx, err)
			}
			continue
		}
		a.conn = n
		if err := a.await(ctx); err != nil {
			return nil, a.withdraw(ctx, err)
		}
		if l, over, err := a.settle(); over {
			return l, a.withdraw(ctx, err)
		}
	}
}

// prepare fills in what is left of the wait, and how long an answer may take: for
// ever only if the wait is.
func (a *acquisition) prepare() {
	req, now := &a.call.req, a.began
	if a.missed > 0 || !a.since.IsZero() {
		now = a.client.now()
	}
	a.call.sent = now
	req.Lease, req.Wait, a.cut = a.o.lease, a.o.wait, false
	if a.o.wait != wire.Try && a.o.wait != wire.Forever {
		req.Wait = max(wire.Try, a.o.wait-time.Duration(now-a.began))
	}
	if a.giveUpAt != noLimit && req.Wait != wire.Try {
		if left := max(wire.Try, time.Duration(a.giveUpAt-now)); left < req.Wait {
			req.Wait, a.cut = left, true
		}
	}
	a.call.limit = a.giveUpAt
	if req.Wait < wire.MaxWait {
		a.call.limit = min(a.giveUpAt, now+int64(req.Wait+a.client.o.pingTimeout))
	}
}

// notSent says whether to give up because n took no request.
func (a *acquisition) notSent(ctx context.Context, n *conn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.client.closing.Load() {
		return ErrClosed
	}
	a.miss(n)
	return nil
}

// await waits for an answer. An error means that none is waited for any more.
func (a *acquisition) await(ctx context.Context) error {
	if _, err := a.call.wait(ctx, nil); err != nil {
		a.conn.forget(a.call)
		return err
	}
	if a.call.answer.err != errLate {
		return nil
	}
	if a.client.now() >= a.giveUpAt {
		return context.DeadlineExceeded
	}
	// It may answer pings, but not this.
	a.conn.close(errLate)
	return nil
}

// settle takes in the answer. The acquire is over with a lock or with an error;
// otherwise it is to be sent again.
func (a *acquisition) settle() (l *Lock, over bool, err error) {
	got := &a.call.answer
	switch {
	case got.err != nil && a.client.closing.Load():
		return nil, true, ErrClosed
	case got.err != nil:
		a.dropped()
		return nil, false, nil
	case got.undone():
		a.undone(got)
		return nil, false, nil
	}
	gone := a.gone
	a.conn, a.gone = nil, nil
	switch got.kind {
	case wire.KindGranted:
		l, err = a.granted(got)
	case wire.KindTimeout:
		err = a.timedOut()
	default:
		// Only this sending was refused: what came of an earlier one stands.
		a.gone = gone
		a.client.count.refused.Add(1)
		err = &RefusedError{Op: wire.OpAcquire, Key: a.key, Code: got.code}
	}
	return l, true, err
}

// dropped notes that the connection ended before it brought an answer, or that its
// server is active no more and will send none.
func (a *acquisition) dropped() {
	if a.client.now()-a.call.sent >= int64(settled) {
		a.since, a.missed = time.Time{}, 0
	}
	if len(a.gone) == maxGone {
		a.gone = a.gone[1:]
	}
	a.gone = append(a.gone, a.conn.n)
	a.miss(a.conn)
	a.conn = nil
}

// undone notes that the server has not done what was asked.
func (a *acquisition) undone(got *answer) {
	if got.kind == wire.KindMoved {
		a.client.routes.redirected(a.conn, got.addr)
	} else {
		a.client.routes.complained(a.conn, got.code)
	}
	a.miss(a.conn)
	a.conn = nil
}

func (a *acquisition) timedOut() error {
	if a.cut {
		return context.DeadlineExceeded
	}
	a.client.count.timedOut.Add(1)
	return ErrTimeout
}

// withdraw sees to it that the acquire neither waits nor holds anything, because
// of why, which it returns.
func (a *acquisition) withdraw(ctx context.Context, why error) error {
	if why == nil || a.conn == nil && len(a.gone) == 0 {
		return why
	}
	q := question{op: wire.OpCancel, key: a.key, target: a.call.req.Tag, client: a.client, attempt: attemptFor, strict: true}
	q.patience, q.closing = noLimit, true
	q.prefer, q.gone = a.conn, a.gone
	if a.conn != nil {
		q.gone = append(q.gone, a.conn.n)
	}
	if !errors.Is(why, ErrUnavailable) {
		within, cancel := cleanUpTime(ctx)
		defer cancel()
		if _, err := q.ask(within); !isInterrupted(err) {
			return why
		}
	}
	later, lease := q, a.o.lease
	a.client.background(func() { later.withdrawLater(lease) })
	return why
}

// cleanUpTime is what a call has for its clean-up: also when its context is
// cancelled already, but not past its deadline.
func cleanUpTime(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cleanUpFor
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// withdrawLater goes on withdrawing until no server can have kept the place, nor
// the lock.
func (q *question) withdrawLater(lease time.Duration) {
	ctx, cancel := context.WithTimeout(q.client.life, forgottenAfter+lease)
	defer cancel()
	if _, err := q.ask(ctx); err != nil {
		q.client.o.log.Warn("could not withdraw an acquire: its lease will end what it holds", "key", q.key, "error", err)
	}
}
