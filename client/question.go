package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// attemptFor is how long a server may take for an answer that needs no waiting
// before the next connection is tried.
const attemptFor = time.Second

// maxLingering is how many tries of a question are listened to beside the last.
const maxLingering = 8

// question is a request that does no harm when it is sent again: all but an
// acquire. It is asked until it is answered. A try that is late is followed by
// another one, and still listened to: a slow server is no dead one. Each try has
// twice the time of the one before, so as not to make it slower.
type question struct {
	search
	client  *Client
	op      wire.Op
	key     string
	token   uint64
	lease   time.Duration
	target  uint64
	attempt time.Duration // the time of the next try
	// prefer is the connection to ask on first; or nil.
	prefer *conn
	// gone are the connections to give up before. With strict, one that does not
	// answer in time is closed and becomes one of them.
	gone   []uint64
	strict bool
	// lingering are the tries that others followed.
	lingering []try
	// tries counts those that may have been acted on; first is when the first of
	// them was sent, sent when the one that was answered.
	tries       int
	first, sent int64
	// unanswered are the connections of tries that may be acted on yet.
	unanswered []uint64
}

// try is a call and where it was sent.
type try struct {
	n *conn
	k *call
}

// ask asks until there is an answer that decides, or an error: that of ctx, which
// may be gone on from with another one, ErrUnavailable or ErrClosed.
func (q *question) ask(ctx context.Context) (answer, error) {
	defer q.endLingering()
	for {
		t, err := q.try(ctx)
		if err != nil {
			return answer{}, err
		}
		if t.k == nil {
			q.miss(t.n)
			continue
		}
		got := t.k.answer
		q.sent = t.k.sent
		q.client.free(t.k)
		if q.decides(t.n, &got) {
			return got, nil
		}
		q.miss(t.n)
	}
}

// decides reports whether the answer that n gave does.
func (q *question) decides(n *conn, got *answer) bool {
	switch {
	case got.err != nil:
		q.unanswered = append(q.unanswered, n.n)
		return false
	case got.kind == wire.KindMoved:
		q.tries--
		q.client.routes.redirected(n, got.addr)
		return false
	case got.undone():
		q.tries--
		q.client.routes.complained(n, got.code)
		return false
	}
	return true
}

// next returns the connection to ask on.
func (q *question) next(ctx context.Context, tag uint64) (*conn, error) {
	if n := q.prefer; n != nil {
		q.prefer = nil
		return n, nil
	}
	return q.conn(ctx, q.client, tag)
}

// try asks once more and returns the try that was answered, be it an earlier one.
// It is without its call if none was. The error is that of ctx or of the search.
func (q *question) try(ctx context.Context) (try, error) {
	tag := q.client.tag()
	n, err := q.next(ctx, tag)
	if err == errAnswered {
		return q.takeAnswered(), nil
	}
	if err != nil {
		return try{}, err
	}
	t := try{n, q.call(tag)}
	if n.send(ctx, t.k, q.gone) != nil {
		q.client.free(t.k)
		return try{n: n}, ctx.Err()
	}
	if q.tries++; q.tries == 1 {
		q.first = t.k.sent
	}
	what, err := t.k.wait(ctx, q.others)
	switch {
	case err != nil && !n.forget(t.k):
		q.unanswered = append(q.unanswered, n.n)
		q.client.free(t.k)
		return try{}, err
	case err != nil || what == answerIsThere:
		return t, nil
	case what == isLate:
		return q.late(t), nil
	case q.linger(t): // its answer came in the same moment
		return t, nil
	}
	return q.takeAnswered(), nil
}

func (q *question) call(tag uint64) *call {
	c := q.client
	k := c.newCall(q.op, tag, q.key)
	k.req.Token, k.req.Lease, k.req.Target = q.token, q.lease, q.target
	k.sent = c.now()
	k.limit = k.sent + int64(q.attempt)
	k.lingers = true
	return k
}

// late notes that a try took too long.
func (q *question) late(t try) try {
	q.attempt = max(q.attempt, min(2*q.attempt, q.client.o.pingTimeout))
	q.client.routes.complained(t.n, errLate)
	if q.strict {
		t.n.close(errLate)
		q.gone = append(q.gone, t.n.n)
		t.k.drain(true)
		return t
	}
	if q.linger(t) {
		return t
	}
	return try{n: t.n}
}

// linger has a try listened to while others follow it, unless it is answered.
func (q *question) linger(t try) (answered bool) {
	if q.others == nil {
		q.others = make(chan *call, maxLingering)
	}
	if len(q.lingering) == maxLingering {
		return t.n.forget(t.k)
	}
	if t.n.linger(t.k, q.others) {
		return true
	}
	q.lingering = append(q.lingering, t)
	return false
}

// takeAnswered returns a lingering try that is answered.
func (q *question) takeAnswered() try {
	k := <-q.others
	i := slices.IndexFunc(q.lingering, func(t try) bool { return t.k == k })
	t := q.lingering[i]
	q.lingering = slices.Delete(q.lingering, i, i+1)
	return t
}

// endLingering listens to no try any more.
func (q *question) endLingering() {
	for _, t := range q.lingering {
		if !t.n.unpend(t.k) {
			<-q.others // this one's answer, or another's that waits for the same
		} else {
			q.unanswered = append(q.unanswered, t.n.n)
		}
	}
	for _, t := range q.lingering {
		q.client.free(t.k)
	}
	q.lingering, q.others = nil, nil
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
