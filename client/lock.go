package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// Lock is a lock that was acquired. It ends once: released, detached, or lost.
// Any number of goroutines may use it at once.
//
// That it has not ended is no proof that it is held: the program may have been
// paused. A resource that must not be written by two checks the [Lock.Token]; see
// the package fence.
type Lock struct {
	client *Client
	key    string
	token  uint64
	values context.Context // the acquire's, for its values

	mu       sync.Mutex
	lease    time.Duration
	deadline int64 // see Client.now, as for renewAt
	// renews says that the lock is renewed; renewAt is when that is due, or noLimit.
	renews  bool
	renewAt int64
	timer   *time.Timer // nil while the lock is young
	err     error       // why it has ended; nil while it is held
	// unreleased says that the server may still hold what is lost here.
	unreleased bool
	// done and ctx are made when they are asked for; keeping holds one while a
	// keep is under way.
	done    chan struct{}
	ctx     context.Context
	cancel  context.CancelCauseFunc
	keeping chan struct{}
	// doubtful are the connections on which a keep may still be on its way, shortest
	// the shortest lease that one asks for. They are those of who fills keeping.
	doubtful []uint64
	shortest time.Duration

	// Guarded by the mutex of locks: whether it is in the list of the young, and
	// its neighbours there.
	young          bool
	younger, older *Lock
}

// granted makes a lock of the answer to a.
func (a *acquisition) granted(got *answer) (*Lock, error) {
	l := &Lock{client: a.client, key: a.key, token: got.token, lease: a.o.lease, renews: a.o.renew, values: a.values}
	l.leaseBegan(got.since, got.at, a.call.req.Wait != wire.Try)
	soon := l.next() < 2*youngFor
	if !a.client.locks.add(l) { // from here on its timer may run
		a.client.background(func() { l.releaseUnheld() })
		return nil, ErrClosed
	}
	a.client.count.acquired.Add(1)
	if soon {
		l.setTimer()
	}
	return l, nil
}

// leaseBegan works out the deadline from the two moments between which the lease
// began. If others held the key and nothing was answered on the connection for a
// while, they are far apart. Then a renewal at once, even of a lock that is not
// renewed otherwise, makes sure; and until it is answered a short lease counts as
// half over rather than as over. A try waited for nobody, so its lease began when
// it was sent, at the earliest.
func (l *Lock) leaseBegan(earliest, latest int64, waited bool) {
	l.deadline = earliest + int64(l.lease)
	if waited {
		l.deadline = max(l.deadline, latest+int64(l.lease/2))
	}
	switch {
	case latest-earliest > int64(l.lease/10):
		l.renewAt = latest
	case l.renews:
		l.renewAt = earliest + int64(l.lease/3)
	default:
		l.renewAt = noLimit
	}
}

// next is how long there is nothing to do: then to renew, or to end.
func (l *Lock) next() time.Duration {
	return time.Duration(min(l.renewAt, l.deadline) - l.client.now())
}

// setTimer has the lock wake up when there is something to do, unless it has ended.
func (l *Lock) setTimer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resetTimer()
}

func (l *Lock) resetTimer() {
	switch {
	case l.err != nil:
	case l.timer == nil:
		l.timer = time.AfterFunc(l.next(), l.tick)
	default:
		l.timer.Reset(l.next())
	}
}

// Key returns the key.
func (l *Lock) Key() string { return l.key }

// Token returns the fencing token: greater than that of any earlier grant of any
// key. It is at most 2^63-1, and larger than a JSON number can be relied upon to
// hold.
func (l *Lock) Token() uint64 { return l.token }

// Deadline returns when the lease ends unless it is renewed or kept before, by
// this process's monotonic clock. It is not after the server's end, but in one
// case: a grant that was waited for took longer than half the lease to arrive, and
// the renewal that is sent then is not answered either.
func (l *Lock) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.client.born.Add(time.Duration(l.deadline))
}

// Err returns nil while the lock is held; [ErrReleased] after it was released or
// detached, which matches [ErrClosed], too, if Close did that; a [*LostError],
// which matches [ErrLost], if it was lost.
func (l *Lock) Err() error {
	l.mu.Lock()
	err := l.err
	over := err == nil && l.client.now() >= l.deadline
	l.unreleased = l.unreleased || over
	l.mu.Unlock()
	if over {
		// The timer has not had its turn yet.
		return l.lose(ErrLeaseOver)
	}
	return err
}

// Done returns a channel that is closed when the lock ends.
func (l *Lock) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.err != nil {
			close(l.done)
		}
	}
	return l.done
}

// Context returns a context that ends when the lock does, with what [Lock.Err]
// says as its cause. It has the values of the acquire's context, but neither its
// end nor its deadline.
func (l *Lock) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(l.values))
		if l.err != nil {
			l.cancel(l.err)
		}
	}
	return l.ctx
}

// end ends the lock, for the reason err, unless it has ended. It returns why it
// has ended before.
func (l *Lock) end(err error) (before error) {
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return l.err
	}
	l.err = err
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.done != nil {
		close(l.done)
	}
	cancel := l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel(err)
	}
	l.client.locks.remove(l)
	return nil
}

// lose ends the lock because of reason.
func (l *Lock) lose(reason error) error {
	lost := &LostError{Key: l.key, Token: l.token, Reason: reason}
	if before := l.end(lost); before != nil {
		return before
	}
	c := l.client
	c.count.lost.Add(1)
	c.o.log.Warn("lock lost", "key", l.key, "token", l.token, "reason", reason)
	return lost
}

// Release ends the lock and gives it back. The lock has ended here when it
// returns, whatever it returns: nothing is left to do but to report an error.
//
// A context that is over does not keep the release from the server: it is then
// sent all the same, the call waits up to a second for the answer, and the release
// goes on in the background for up to 5 seconds, as it does when ctx ends later.
//
// It returns [ErrLost] if the lock was lost before, also if it is only now that
// the server says so; [ErrReleased] if it was released or detached before; an
// error that matches ctx's, or [ErrUnavailable], if no answer came: then the lease
// ends the lock, unless a try got through.
func (l *Lock) Release(ctx context.Context) error {
	// In flight before the lock ends: a Close that does not find it any more waits.
	l.client.inflight.Add(1)
	defer l.client.end()
	if before := l.end(ErrReleased); before != nil {
		l.releaseLost(ctx)
		return fmt.Errorf("release %q: %w", l.key, before)
	}
	return l.orLost(l.client.release(ctx, l.key, l.token))
}

// orLost makes a loss of the news that a lock that was held here is not.
func (l *Lock) orLost(err error) error {
	if err == nil {
		return nil
	}
	if notHeld := asNotHeld(err); notHeld != nil {
		l.client.count.lost.Add(1)
		return fmt.Errorf("release %q: %w", l.key, &LostError{Key: l.key, Token: l.token, Reason: notHeld})
	}
	return err
}

// releaseLost releases what is lost by this client's clock only: a renewal whose
// answer did not come may have reached the server.
func (l *Lock) releaseLost(ctx context.Context) {
	l.mu.Lock()
	unreleased := l.unreleased
	l.unreleased = false
	l.mu.Unlock()
	if !unreleased || l.client.begin() != nil {
		return
	}
	defer l.client.end()
	// Whether it was still there is of no interest: it was lost.
	_ = l.client.release(ctx, l.key, l.token)
}

// releaseUnheld releases a lock that nobody was given.
func (l *Lock) releaseUnheld() {
	if err := l.client.release(l.client.life, l.key, l.token); err != nil {
		l.client.o.log.Warn("could not release a lock: its lease will end it", "key", l.key, "token", l.token, "error", err)
	}
}

// Detach hands the lock on: it ends here and is renewed no more, but stays at the
// server until its lease ends, or until somebody who was told the token keeps or
// releases it with [Client.Keep] or [Client.Release]. Close does not release it.
// It does nothing to a lock that has ended.
func (l *Lock) Detach() { l.end(ErrReleased) }

// releaseAll releases the locks that are held, all at once.
func (c *Client) releaseAll() {
	for _, l := range c.locks.close() {
		if l.end(fmt.Errorf("%w: %w", ErrReleased, ErrClosed)) == nil {
			c.background(l.releaseUnheld)
		}
	}
}
