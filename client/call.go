package client

import (
	"context"
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
	// sent is no later than the moment the server sees the request.
	sent time.Time
	// order tells the older of two calls of a connection.
	order  uint64
	answer answer
	done   chan struct{} // holds one: the answer is there
	timer  *time.Timer
}

// answer is what came of a call.
type answer struct {
	// err is why no reply can come any more; the rest is then empty.
	err     error
	kind    wire.Kind
	code    wire.Code
	token   uint64
	left    time.Duration
	waiters int
	addr    string
	at      time.Time
}

// undone reports whether the server asked says that it has not done what it was
// asked, and that another server or a later time may.
func (a *answer) undone() bool {
	return a.kind == wire.KindMoved || a.kind == wire.KindError && a.code == wire.CodeNotReady
}

func newCall() any {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &call{done: make(chan struct{}, 1), timer: timer}
}

func (c *Client) newCall(op wire.Op, tag uint64, key string) *call {
	k := c.calls.Get().(*call)
	k.key = append(k.key[:0], key...)
	k.req = wire.Request{Op: op, Tag: tag, Key: k.key}
	return k
}

// free gives back a call that no connection has pending.
func (c *Client) free(k *call) {
	k.answer = answer{}
	c.calls.Put(k)
}

// answered fills in the answer that r is.
func (k *call) answered(r *wire.Reply, at time.Time) {
	k.answer = answer{kind: r.Kind, code: r.Code, token: r.Token, left: r.Left, waiters: r.Waiters, at: at}
	if r.Kind == wire.KindMoved {
		k.answer.addr = string(r.Addr)
	}
	k.done <- struct{}{}
}

func (k *call) fail(err error) {
	k.answer = answer{err: err}
	k.done <- struct{}{}
}

// outcome is how a wait for an answer ended.
type outcome int

const (
	gotAnswer outcome = iota
	ctxEnded
	tookTooLong
)

const noLimit time.Duration = math.MaxInt64

// wait waits for the answer until ctx ends or limit is over. The call stays
// pending if there is none.
func (k *call) wait(ctx context.Context, limit time.Duration) outcome {
	ended := ctx.Done()
	if limit == noLimit {
		if ended == nil {
			<-k.done
			return gotAnswer
		}
		select {
		case <-k.done:
			return gotAnswer
		case <-ended:
			return ctxEnded
		}
	}
	k.timer.Reset(limit)
	defer k.timer.Stop()
	select {
	case <-k.done:
		return gotAnswer
	case <-ended:
		return ctxEnded
	case <-k.timer.C:
		return tookTooLong
	}
}
