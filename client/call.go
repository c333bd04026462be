package client

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// call is one request on one connection, and where its answer goes. While a
// connection has it pending, its answer is the connection's to write. Calls are
// used again, by one client only.
type call struct {
	req wire.Request
	key []byte // what req.Key is made of
	// limit is when the call is to fail with errLate: see Client.now.
	limit int64
	// order tells the older of two calls of a connection.
	order uint64
	// patient says that the caller does not listen to its context at first: see
	// wait. early says that it still does not.
	patient, early bool
	// lingers says that the call stays pending when its limit is over, and others
	// is where the answer is told of then: see question.
	lingers bool
	others  chan *call
	told    chan tidings // holds one of each
	// sent is no later than the moment the request is handed to the connection.
	sent   int64
	answer answer
}

// tidings are what a connection tells the caller of a pending call.
type tidings int

const (
	// answerIsThere is the last; the call is pending no more.
	answerIsThere tidings = iota
	// notEarly tells it to listen to its context, too.
	notEarly
	// isLate tells it that the limit is over of a call that lingers.
	isLate
	// otherIsThere is that another call of the same question is answered.
	otherIsThere
)

// answer is what came of a call.
type answer struct {
	kind  wire.Kind
	token uint64
	// at is when it came, since the latest moment known that the server cannot have
	// acted before, if it acted on a request that had to wait.
	at, since int64
	// err is why no reply can come any more; the rest is then empty.
	err     error
	code    wire.Code
	left    time.Duration
	waiters int
	addr    string
}

func (a *answer) undone() bool { return undone(a.kind, a.code) }

// undone reports whether the server says that it has not done what it was asked,
// and that another server or a later time may.
func undone(kind wire.Kind, code wire.Code) bool {
	return kind == wire.KindMoved || kind == wire.KindError && code == wire.CodeNotReady
}

func newCall() any { return &call{told: make(chan tidings, 3)} }

func (c *Client) newCall(op wire.Op, tag uint64, key string) *call {
	k := c.calls.Get().(*call)
	k.key = append(k.key[:0], key...)
	k.req = wire.Request{Op: op, Tag: tag, Key: k.key}
	return k
}

// free gives back a call that no connection has pending.
func (c *Client) free(k *call) {
	k.answer, k.lingers, k.others = answer{}, false, nil
	c.calls.Put(k)
}

// answered fills in the answer that r is. The call is then to be told.
func (k *call) answered(r *wire.Reply, at, since int64) {
	k.answer = answer{
		kind: r.Kind, code: r.Code, token: r.Token, left: r.Left, waiters: r.Waiters,
		at: at, since: max(since, k.sent),
	}
	if r.Kind == wire.KindMoved {
		k.answer.addr = string(r.Addr)
	}
}

func (k *call) fail(err error) {
	k.answer = answer{err: err}
	k.tell()
}

func (k *call) tell() {
	if k.others != nil {
		k.others <- k
		return
	}
	k.told <- answerIsThere
}

// errLate is why a call failed that its connection answered too late.
var errLate = errors.New("no answer in time")

// noLimit is the limit of what may take for ever.
const noLimit = math.MaxInt64

// rest is how long a connection rests between two lookings for calls that are late,
// or not early any more.
const rest = 5 * time.Millisecond

// mayBeEarly says whether a call may be early whose context is ctx: that need not
// be listened to if it cannot end soon, or only by a cancellation, which then has
// to wait a moment.
func (c *Client) mayBeEarly(ctx context.Context, now int64) bool {
	if ctx.Done() == nil {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || int64(deadline.Sub(c.born))-now > 2*int64(rest)
}

// wait waits until the answer is there, or that of another call; until the call is
// late, or ctx ends. In all cases but the first the call stays pending.
//
// To listen to a context that thousands of callers share takes as long as all the
// rest of a call. Most calls are answered before that is worth its while, so it
// begins only when the connection finds that this one was not.
func (k *call) wait(ctx context.Context, others chan *call) (tidings, error) {
	ended := ctx.Done()
	if others == nil && (k.patient || ended == nil) {
		if what := <-k.told; what != notEarly {
			return what, nil
		}
	}
	for {
		select {
		case what := <-k.told:
			if what != notEarly {
				return what, nil
			}
		case other := <-others:
			others <- other // for whoever takes it in; there is room for all
			return otherIsThere, nil
		case <-ended:
			return 0, ctx.Err()
		}
	}
}

// drain waits for the answer of a call that has one, and takes away what else a
// call was told.
func (k *call) drain(answered bool) {
	for answered {
		answered = <-k.told != answerIsThere
	}
	for {
		select {
		case <-k.told:
		default:
			return
		}
	}
}
