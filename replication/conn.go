package replication

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddylock/caddylock/lockcore"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// greeting is how far a client has got with introducing itself.
type greeting uint8

const (
	// silent: no request has come. H may.
	silent greeting = iota
	// named: H was accepted.
	named
	// anonymous: another request came first. H may not come any more.
	anonymous
	// unwelcome: H was refused, its number was used before. Nothing is done for
	// this connection but a new H: what it sends may be a late copy.
	unwelcome
)

// Conn is one client connection: who is at the other end, and the replies on
// their way there. Its handler, the goroutine in Node.Serve, parses requests
// and applies them; grants that others cause are added to the outbox by them.
type Conn struct {
	node *Node
	sock net.Conn
	// lent guards givenBack: whoever is not the handler or a writer uses sock
	// under it, and not once it was given back.
	lent      sync.Mutex
	givenBack bool

	// greeting, owner, client, number and line belong to the handler.
	greeting greeting
	owner    *lockcore.Owner
	client   *client
	number   uint64
	// line is the request being carried out.
	line []byte

	// gone: given up by its client, or ended. Nothing from it is applied any
	// more. Whoever sets it then takes the connection out of every shard; a
	// request that was quicker is undone by that, one that is slower sees it.
	gone atomic.Bool
	// aborted: reads and writes are made to fail for good.
	aborted atomic.Bool
	// mayWait: an acquire of this connection was queued at some time since it
	// was last seen that none is. Only for the sweep, which unsets it while it
	// looks; waited belongs to the handler and stays.
	mayWait atomic.Bool
	waited  bool
	// heard is the instant of the last bytes read.
	heard atomic.Int64
	// writing is the instant since when a write has been under way; 0 for none.
	writing atomic.Int64

	out outbox
}

// handle carries out one line. It returns false if the connection is to be
// closed once its replies are out.
func (c *Conn) handle(now lockcore.Instant, line []byte) bool {
	var r wire.Request
	c.line = line
	err := wire.ParseRequest(line, &r)
	if r.Op == wire.OpHello && err == nil {
		return c.hello(now, &r)
	}
	if text, is := err.(wire.Malformed); is {
		c.malformed(text)
		return false
	}
	if c.greeting == silent {
		c.greeting = anonymous
	}
	code, refused := err.(wire.Code)
	switch {
	case r.Op == wire.OpPing:
		c.reply(&wire.Reply{Kind: wire.KindPong, Tag: r.Tag})
	case c.greeting == unwelcome:
		c.refuse(&r, wire.CodeNeedHello)
	case refused:
		c.refuse(&r, code)
	case r.Op == wire.OpGiveUp:
		return c.giveUp(now, &r)
	default:
		c.lockRequest(now, &r)
	}
	return true
}

// hello names the client.
func (c *Conn) hello(now lockcore.Instant, r *wire.Request) bool {
	if c.greeting == named || c.greeting == anonymous {
		c.malformed(wire.ErrHelloFirst)
		return false
	}
	c.client = c.node.clients.open(r.Client, r.N, c)
	if c.client == nil {
		c.greeting = unwelcome
		c.refuse(r, wire.CodeClientInUse)
		return true
	}
	c.greeting, c.number = named, r.N
	c.owner = &lockcore.Owner{Client: c.client.id, Addr: c.owner.Addr}
	reply := wire.Reply{Kind: wire.KindHello, Tag: r.Tag}
	c.node.describe(&reply)
	c.reply(&reply)
	return true
}

// giveUp ends another connection of the client, or this one.
func (c *Conn) giveUp(now lockcore.Instant, r *wire.Request) bool {
	if c.client == nil {
		c.refuse(r, wire.CodeNeedHello)
		return true
	}
	other := c.node.clients.giveUp(c.client, r.N)
	if other != nil && other != c {
		other.disown(now)
	}
	c.reply(&wire.Reply{Kind: wire.KindGaveUp, Tag: r.Tag, N: r.N})
	return other != c
}

// disown makes sure that nothing from this connection is applied from now on.
// It may be called while the connection's handler is at work.
func (c *Conn) disown(now lockcore.Instant) {
	c.gone.Store(true)
	c.abort()
	c.leaveShards(now)
}

// abort makes every read and write of the connection fail, so that its handler
// ends. It does not block, whatever the connection is made of, so it may be
// called under a shard's mutex.
func (c *Conn) abort() {
	c.aborted.Store(true)
	c.cut(c.sock.SetDeadline)
}

// finish lets the handler end: it reads nothing more, but what it has decided
// goes out.
func (c *Conn) finish() {
	c.cut(c.sock.SetReadDeadline)
}

// cut sets a deadline that has passed, unless the socket was given back.
func (c *Conn) cut(setDeadline func(time.Time) error) {
	c.lent.Lock()
	defer c.lent.Unlock()
	if !c.givenBack {
		_ = setDeadline(longAgo)
	}
}

// giveBack makes sure that nobody uses the socket from now on.
func (c *Conn) giveBack() {
	c.out.close()
	c.lent.Lock()
	defer c.lent.Unlock()
	c.givenBack = true
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// leaveShards takes the connection out of every queue: what can be repeated
// goes away for the grace, the rest ends. Nothing is queued for it meanwhile: it
// is gone.
func (c *Conn) leaveShards(now lockcore.Instant) {
	for i := range c.node.shards {
		for c.leave(&c.node.shards[i], now) {
		}
	}
}

// leave takes the connection out of a shard, a part of its acquires at a time. It
// returns true while there are more.
func (c *Conn) leave(s *shard, now lockcore.Instant) bool {
	at, ok := s.lock(now)
	if !ok {
		s.mu.Unlock()
		return false
	}
	effects := s.table.Disconnect(at, c)
	more := s.table.Waits(c)
	s.unlock(effects, nil)
	return more
}

// lockRequest carries out a request about a key.
func (c *Conn) lockRequest(now lockcore.Instant, r *wire.Request) {
	if code := c.check(r); code != "" {
		c.refuse(r, code)
		return
	}
	s := c.node.shardOf(r.Key)
	at, ok := s.lock(now)
	if !ok || c.gone.Load() {
		s.mu.Unlock()
		c.refuse(r, wire.CodeNotReady)
		return
	}
	s.unlock(c.apply(s.table, at, r), c)
}

// check holds a request against the limits of the configuration.
func (c *Conn) check(r *wire.Request) wire.Code {
	o := c.node.options.Load()
	switch {
	case len(r.Key) > o.MaxKeyBytes && r.Op == wire.OpAcquire:
		// What is held under a longer one, from before a change of the
		// configuration, can still be given back.
		return wire.CodeBadKey
	case r.Lease > o.MaxLease:
		return wire.CodeBadLease
	case r.Op == wire.OpCancel && c.client == nil:
		return wire.CodeNeedHello
	}
	return ""
}

// apply translates a request into a command.
func (c *Conn) apply(t *lockcore.Table, now lockcore.Instant, r *wire.Request) []lockcore.Effect {
	switch r.Op {
	case wire.OpAcquire:
		effects := t.Acquire(now, &lockcore.Acquire{
			Conn: c, Owner: c.owner, Tag: r.Tag, Lease: r.Lease, Wait: r.Wait, Key: r.Key,
		})
		if effects[len(effects)-1].Kind == lockcore.Queued {
			c.waited = true
			c.mayWait.Store(true)
		}
		return effects
	case wire.OpRelease:
		return t.Release(now, &lockcore.Release{Conn: c, Tag: r.Tag, Token: r.Token, Key: r.Key})
	case wire.OpKeep:
		return t.Keep(now, &lockcore.Keep{Conn: c, Tag: r.Tag, Token: r.Token, Lease: r.Lease, Key: r.Key})
	case wire.OpCancel:
		return t.Cancel(now, &lockcore.Cancel{Conn: c, Owner: c.owner, Tag: r.Tag, Target: r.Target, Key: r.Key})
	case wire.OpQuery:
		return t.Query(now, &lockcore.Query{Conn: c, Tag: r.Tag, Key: r.Key})
	default:
		panic("replication: no command for op " + string(rune(r.Op)))
	}
}

// refuse answers a request with E.
func (c *Conn) refuse(r *wire.Request, code wire.Code) {
	c.reply(&wire.Reply{Kind: wire.KindError, Tag: r.Tag, Op: r.Op, Code: code, Target: r.Target, Key: r.Key})
}

// malformed is the last reply of a connection that cannot be understood.
func (c *Conn) malformed(text wire.Malformed) {
	c.reply(&wire.Reply{Kind: wire.KindError, Text: []byte(text)})
}

// reply adds the handler's own reply: it flushes when its batch is done.
func (c *Conn) reply(r *wire.Reply) {
	if _, full := c.out.add(r, c.node.options.Load().MaxOutbox); full {
		c.abort()
	}
}

// deliver adds the answer to an effect. It is called under the shard's mutex,
// so that answers leave in the order decided, and never blocks. The answer to a
// release repeats the request letter by letter, so it is not spelled anew: that
// is a tenth of what a pair of acquire and release costs.
func (c *Conn) deliver(e *lockcore.Effect, own bool) {
	var flush, full bool
	limit := c.node.options.Load().MaxOutbox
	if own && e.Kind == lockcore.Released {
		flush, full = c.out.addLine(bytes.TrimSuffix(c.line, cr), limit)
	} else {
		var r wire.Reply
		answer(&r, e)
		flush, full = c.out.add(&r, limit)
	}
	switch {
	case full:
		c.abort()
	case flush && !own:
		go c.flush()
	}
}

// cr may end a request's line; it is not part of it.
var cr = []byte("\r")

// flush writes what is in the outbox until it is empty. The error is that of
// the connection, which is of no more use then.
func (c *Conn) flush() error {
	c.out.writing <- struct{}{}
	defer func() { <-c.out.writing }()
	for out := c.out.take(); out != nil; out = c.out.take() {
		c.writing.Store(int64(c.node.now()))
		_, err := c.sock.Write(out)
		c.writing.Store(0)
		if err != nil {
			c.abort()
			return err
		}
	}
	return nil
}
