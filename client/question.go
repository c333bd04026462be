package client

import (
	"context"
	"errors"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// attemptFor is how long a server may take for an answer that needs no waiting
// before the next connection is tried.
const attemptFor = time.Second

// question is a request that does no harm when it is sent again: all but an
// acquire. It is asked until it is answered.
type question struct {
	search
	client  *Client
	op      wire.Op
	key     string
	token   uint64
	lease   time.Duration
	target  uint64
	attempt time.Duration
	// prefer is the connection to ask on first; or nil.
	prefer *conn
	// gone are the connections to give up before. With strict, one that does not
	// answer in time is closed and becomes one of them.
	gone   []uint64
	strict bool
	// tries counts those that may have been acted on; sent is when the last began.
	tries int
	sent  int64
}

// ask asks until there is an answer that decides, or an error: that of ctx, which
// may be gone on from with another one, ErrUnavailable or ErrClosed.
func (q *question) ask(ctx context.Context) (answer, error) {
	for {
		n, err := q.next(ctx)
		if err != nil {
			return answer{}, err
		}
		got, err := q.try(ctx, n)
		if err != nil {
			return answer{}, err
		}
		switch {
		case got.err != nil:
		case got.kind == wire.KindMoved:
			q.tries--
			q.client.routes.redirected(n, got.addr)
		case got.undone():
			q.tries--
			q.client.routes.complained(n, got.code)
		default:
			return got, nil
		}
		q.miss(n)
	}
}

// next returns the connection to ask on.
func (q *question) next(ctx context.Context) (*conn, error) {
	if n := q.prefer; n != nil {
		q.prefer = nil
		return n, nil
	}
	return q.conn(ctx, q.client)
}

// try asks once. The error is that of ctx; whatever else went wrong is in the
// answer.
func (q *question) try(ctx context.Context, n *conn) (answer, error) {
	c := q.client
	k := c.newCall(q.op, c.tag(), q.key)
	k.req.Token, k.req.Lease, k.req.Target = q.token, q.lease, q.target
	k.limit = c.now() + int64(q.attempt)
	defer c.free(k)
	if err := n.send(ctx, k, q.gone); err != nil {
		return answer{err: err}, ctx.Err()
	}
	q.tries++
	q.sent = k.sent
	if err := k.wait(ctx); err != nil && !n.forget(k) {
		return answer{}, err
	}
	if k.answer.err == errLate {
		q.silent(n)
	}
	return k.answer, nil
}

// silent notes that n took too long.
func (q *question) silent(n *conn) {
	q.client.routes.complained(n, errLate)
	if q.strict {
		n.close(errLate)
		q.gone = append(q.gone, n.n)
	}
}

// refusal is the error for an answer that is an E.
func (q *question) refusal(got *answer) error {
	switch got.code {
	case wire.CodeNotHeld, wire.CodeTaken:
		return &NotHeldError{Key: q.key, Token: q.token, Code: got.code}
	}
	q.client.count.refused.Add(1)
	return &RefusedError{Op: q.op, Key: q.key, Code: got.code}
}

// isInterrupted tells the end of a call's context from what ends the call for
// good.
func isInterrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
