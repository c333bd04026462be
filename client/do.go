package client

import (
	"context"
	"errors"
)

// Do acquires key, calls fn, and releases the lock when fn has ended, also by a
// panic. Meanwhile the lock is renewed (see [Client.Acquire] for the options). The
// context of fn ends with ctx, and when the lock is lost, with the [*LostError] as
// its cause; fn should return then, and what it writes should carry the token: see
// [TokenFrom].
//
// It returns what Acquire returns if the key is not acquired, and then fn is not
// called; else what fn returns, joined with [ErrLost] if the lock was lost before fn
// returned, so that others may have held it meanwhile, or with [ErrClosed] if the
// client was closed. That no server took the release is no error: it goes on in the
// background, and the lease ends the lock.
//
// A loop around Do has to pause after an error: [ErrRefused] and [ErrClosed] come at
// once.
func (c *Client) Do(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...LockOption) (err error) {
	l, err := c.Acquire(ctx, key, opts...)
	if err != nil {
		return err
	}
	within, cancel := context.WithCancelCause(context.WithValue(ctx, tokenKey{}, l.Token()))
	defer cancel(nil)
	stop := context.AfterFunc(l.Context(), func() { cancel(l.Err()) })
	defer func() {
		stop()
		released := l.Release(ctx)
		switch {
		case errors.Is(released, ErrLost), errors.Is(released, ErrClosed):
			err = errors.Join(err, released)
		case released != nil && !errors.Is(released, ErrReleased):
			c.o.log.Warn("a lock was not released: its lease will end it", "key", key, "token", l.Token(), "error", released)
		}
	}()
	return fn(within)
}

type tokenKey struct{}

// TokenFrom returns the fencing token of the lock that the innermost [Client.Do]
// around ctx holds; 0 if there is none.
func TokenFrom(ctx context.Context) uint64 {
	token, _ := ctx.Value(tokenKey{}).(uint64)
	return token
}
