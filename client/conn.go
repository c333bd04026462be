package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// maxOut is how many bytes a connection takes before its writer is done with
// them; who wants to send more waits.
const maxOut = 1 << 20

// maxGrants is how many grants a connection remembers to have handed on.
const maxGrants = 1024

// maxGivenUp bounds what a connection remembers to have given up; to give a
// connection up once more does nothing.
const maxGivenUp = 1024

// conn is a connection whose hello was answered. Its reader, writer and watch
// run until it is closed.
type conn struct {
	link *link
	n    uint64 // the number it said hello with
	raw  net.Conn
	nc   net.Conn // raw, or TLS over it
	in   lines

	mu      sync.Mutex
	err     error // why it is closed; nil while it is open
	out     []byte
	spare   []byte
	writing bool          // the writer was woken and has not found out empty since
	room    chan struct{} // closed when out is taken; nil if nobody waits for that
	pending map[uint64]*call
	orders  uint64
	// soonest is the limit of a pending call at the earliest, or earlier.
	soonest int64
	givenUp map[uint64]struct{}
	// grants are the tokens handed on last, to tell a reply that comes twice from a
	// grant that nobody waits for.
	grants  [maxGrants]uint64
	granted int
	// echo is when the latest request was sent whose answer is there; pingTag is that
	// of the oldest unanswered ping, or 0, and pingAt when it was sent.
	echo    int64
	pingTag uint64
	pingAt  int64
	// noAcquires is set when the client closes.
	noAcquires bool
	// decides is set once the server has shown that it is active.
	decides bool
	// retiredAt is the order of the last call before the server said that it is not
	// active: answers up to that one are no sign that it is again.
	retiredAt uint64
	news      []news
	// done are the calls whose answers are there, but nobody was told yet. They are
	// the reader's.
	done []*call
	// strays are the grants released because no call waits for them, to be logged.
	strays []stray
	reply  wire.Reply

	wake   chan struct{}
	alarm  chan struct{} // soonest is sooner
	closed chan struct{}
	heard  atomic.Int64 // when something was read last, see Client.now

	// Guarded by the mutex of routes:

	// active says that the server is, as far as it said itself, and generation
	// since when.
	active     bool
	generation uint64
	// replaced is closed when the server wants a new connection in place of this.
	replaced   chan struct{}
	isReplaced bool
}

// stray is a grant that nobody waits for.
type stray struct {
	key   string
	token uint64
}

// news is what a server said beside its answers: that the active node is now at
// addr, or, without addr, that it is active itself.
type news struct {
	addr       string
	generation uint64
}

func newConn(l *link, raw, nc net.Conn) *conn {
	return &conn{
		link: l, raw: raw, nc: nc, in: newLines(nc),
		pending:  make(map[uint64]*call),
		givenUp:  make(map[uint64]struct{}),
		soonest:  noLimit,
		wake:     make(chan struct{}, 1),
		alarm:    make(chan struct{}, 1),
		closed:   make(chan struct{}),
		replaced: make(chan struct{}),
	}
}

// start sets off what serves the connection until it is closed.
func (n *conn) start() {
	c := n.link.client
	n.heard.Store(c.now())
	for _, serve := range []func(){n.read, n.write, n.watch} {
		c.running.Go(serve)
	}
}

// send has the writer write k, after the giving up of the connections gone, and
// makes k pending. It waits for room until ctx ends. k.sent is set already.
func (n *conn) send(ctx context.Context, k *call, gone []uint64) error {
	k.patient = n.link.client.mayBeEarly(ctx, k.sent)
	n.mu.Lock()
	for len(n.out) > maxOut && n.err == nil {
		if err := n.awaitRoom(ctx); err != nil {
			n.mu.Unlock()
			return err
		}
	}
	wake, err := n.enqueue(k, gone)
	n.mu.Unlock()
	if wake {
		poke(n.wake)
	}
	return err
}

// enqueue does what send says, under the mutex, and says whether the writer has to
// be woken.
func (n *conn) enqueue(k *call, gone []uint64) (wake bool, err error) {
	if n.err != nil {
		return false, n.err
	}
	if n.noAcquires && k.req.Op == wire.OpAcquire {
		return false, ErrClosed
	}
	n.giveUp(gone)
	n.out = wire.AppendRequest(n.out, &k.req)
	k.early = k.patient
	n.orders++
	k.order = n.orders
	n.pending[k.req.Tag] = k
	if due := k.due(); due < n.soonest {
		n.soonest = due
		poke(n.alarm)
	}
	wake, n.writing = !n.writing, true
	return wake, nil
}

// post has the writer write a request whose answer is of no interest. It waits
// for room until ctx ends.
func (n *conn) post(ctx context.Context, req *wire.Request) error {
	n.mu.Lock()
	for len(n.out) > maxOut && n.err == nil {
		if err := n.awaitRoom(ctx); err != nil {
			n.mu.Unlock()
			return err
		}
	}
	defer n.mu.Unlock()
	n.append(req)
	return n.err
}

func (n *conn) append(req *wire.Request) {
	if n.err == nil {
		n.out = wire.AppendRequest(n.out, req)
		n.wakeWriter()
	}
}

// awaitRoom lets go of the mutex while it waits for the writer.
func (n *conn) awaitRoom(ctx context.Context) error {
	if n.room == nil {
		n.room = make(chan struct{})
	}
	room := n.room
	n.mu.Unlock()
	defer n.mu.Lock()
	select {
	case <-room:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *conn) giveUp(gone []uint64) {
	for _, number := range gone {
		if _, done := n.givenUp[number]; done || number == n.n {
			continue
		}
		if len(n.givenUp) >= maxGivenUp {
			clear(n.givenUp)
		}
		n.givenUp[number] = struct{}{}
		n.out = wire.AppendRequest(n.out, &wire.Request{Op: wire.OpGiveUp, N: number})
	}
}

func (n *conn) wakeWriter() {
	if n.writing {
		return
	}
	n.writing = true
	poke(n.wake)
}

// poke tells whoever listens to a channel that holds one.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write writes what there is in one piece, as long as there is something.
func (n *conn) write() {
	for {
		select {
		case <-n.wake:
		case <-n.closed:
			return
		}
		// Whoever can run adds lines of its own first: fewer and larger writes.
		runtime.Gosched()
		for lines := n.takeOut(); len(lines) > 0; lines = n.takeOut() {
			if _, err := n.nc.Write(lines); err != nil {
				n.close(err)
				return
			}
		}
	}
}

// takeOut returns what is to be written, valid until it is called again.
func (n *conn) takeOut() []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out, n.spare = n.spare[:0], n.out
	n.writing = len(n.spare) > 0
	if n.room != nil {
		close(n.room)
		n.room = nil
	}
	return n.spare
}

// forget makes k pending no more. It reports whether the answer was there first.
func (n *conn) forget(k *call) (answered bool) {
	answered = !n.unpend(k)
	k.drain(answered)
	return answered
}

// unpend makes k pending no more, and reports whether it was.
func (n *conn) unpend(k *call) (was bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	was = n.pending[k.req.Tag] == k
	if was {
		delete(n.pending, k.req.Tag)
	}
	return was
}

// linger has the answer of k told on others, unless it is there already.
func (n *conn) linger(k *call, others chan *call) (answered bool) {
	n.mu.Lock()
	answered = n.pending[k.req.Tag] != k
	if !answered {
		k.others, k.early, k.limit = others, false, noLimit
	}
	n.mu.Unlock()
	k.drain(answered)
	return answered
}

// busy reports whether a call waits for an answer on this connection.
func (n *conn) busy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.pending) > 0
}

// stopAcquires ends the acquires that wait here, and those to come, with
// ErrClosed. They are to be withdrawn.
func (n *conn) stopAcquires() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noAcquires = true
	for tag, k := range n.pending {
		if k.req.Op == wire.OpAcquire {
			delete(n.pending, tag)
			k.fail(ErrClosed)
		}
	}
}

// sendOn ends the acquires that wait here because the server has no say any more;
// they go on at the one that has.
func (n *conn) sendOn() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for tag, k := range n.pending {
		if k.req.Op == wire.OpAcquire {
			delete(n.pending, tag)
			k.fail(errSentOn)
		}
	}
}

var errSentOn = errors.New("not the active lock server any more")

// close closes the connection, for the reason err. Whatever is pending fails with
// err.
func (n *conn) close(err error) {
	if isInterrupted(err) {
		err = errors.New(err.Error()) // to match it means that a caller's context ended
	}
	n.mu.Lock()
	if n.err != nil {
		n.mu.Unlock()
		return
	}
	n.err = err
	pending := n.pending
	n.pending = nil
	if n.room != nil {
		close(n.room)
		n.room = nil
	}
	n.mu.Unlock()
	// First nobody is sent here any more, then the calls look for another one.
	n.link.client.routes.lost(n, err)
	close(n.closed)
	n.hangUp(err)
	for _, k := range pending {
		k.fail(err)
	}
}

// hangUp says good-bye over TLS only if nothing is wrong: that may block.
func (n *conn) hangUp(err error) {
	if errors.Is(err, ErrClosed) {
		stop := time.AfterFunc(100*time.Millisecond, func() { n.raw.Close() })
		defer stop.Stop()
		n.nc.Close()
		return
	}
	n.raw.Close()
}

// read takes in lines until the connection ends.
func (n *conn) read() {
	for {
		// Some may have come right behind the answer to the hello.
		news, err := n.takeLines(n.heard.Load())
		for _, item := range news {
			n.link.client.routes.hear(n, item)
		}
		if err == nil {
			err = n.in.fill()
		}
		if err != nil {
			n.close(err)
			return
		}
		n.heard.Store(n.link.client.now())
	}
}

// takeLines hands the lines that are there to those who wait for them. They are
// told when all are taken in: who is woken before would only wait for the mutex.
func (n *conn) takeLines(at int64) ([]news, error) {
	news, err := n.takeAll(at)
	for i, k := range n.done {
		k.tell()
		n.done[i] = nil
	}
	n.done = n.done[:0]
	for _, s := range n.strays {
		n.link.client.o.log.Debug("releasing a grant that no call waits for", "key", s.key, "token", s.token)
	}
	n.strays = n.strays[:0]
	return news, err
}

func (n *conn) takeAll(at int64) ([]news, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.news = n.news[:0]
	for {
		line, ok := n.in.next()
		if !ok || n.err != nil {
			return n.news, nil
		}
		if err := n.take(line, at); err != nil {
			return n.news, err
		}
	}
}

// take hands on one line. An error means that nothing more can be trusted.
func (n *conn) take(line []byte, at int64) error {
	r := &n.reply
	if err := wire.ParseReply(line, r); err != nil {
		return fmt.Errorf("%w: %q", err, line)
	}
	switch {
	case r.Kind == wire.KindPong:
		n.pinged(r.Tag)
		return nil
	case r.Kind == wire.KindGaveUp:
		return nil
	case r.Kind == wire.KindMoved && r.Op == 0:
		n.news = append(n.news, news{addr: string(r.Addr), generation: r.Generation})
		return nil
	case r.Kind == wire.KindError && r.Op == 0:
		return serverError(r.Text)
	}
	k := n.find(r)
	if k == nil {
		n.stray(r)
		return nil
	}
	if k.req.Op != opOf(r) || !bytes.Equal(k.req.Key, r.Key) {
		return fmt.Errorf("the server answered another request than the one of that tag: %q", line)
	}
	delete(n.pending, k.req.Tag)
	if r.Kind == wire.KindGranted {
		n.grants[n.granted%maxGrants] = r.Token
		n.granted++
	}
	if !n.decides && k.order > n.retiredAt && !undone(r.Kind, r.Code) {
		n.decides = true
		n.news = append(n.news, news{})
	}
	since := n.echo
	n.echoed(k.sent)
	k.answered(r, at, since)
	n.done = append(n.done, k)
	return nil
}

// echoed notes that what was sent at a moment is answered. The server answers a
// connection in order: what comes after that it has done after that moment.
func (n *conn) echoed(sent int64) { n.echo = max(n.echo, sent) }

// serverError is what the server said before it closed the connection.
func serverError(text []byte) error { return fmt.Errorf("the server said: %s", text) }

// find returns the call that r answers: the one of its tag; without one, the
// oldest with its op and key.
func (n *conn) find(r *wire.Reply) *call {
	if r.Tag != 0 {
		return n.pending[r.Tag]
	}
	var oldest *call
	for _, k := range n.pending {
		if k.req.Op == opOf(r) && bytes.Equal(k.req.Key, r.Key) && (oldest == nil || k.order < oldest.order) {
			oldest = k
		}
	}
	return oldest
}

// stray releases a grant that nobody waits for. Any other answer that comes too
// late is of no interest.
func (n *conn) stray(r *wire.Reply) {
	c := n.link.client
	if r.Kind != wire.KindGranted || slices.Contains(n.grants[:], r.Token) || c.locks.holds(r.Token) {
		return
	}
	c.count.strays.Add(1)
	n.strays = append(n.strays, stray{string(r.Key), r.Token})
	n.append(&wire.Request{Op: wire.OpRelease, Tag: c.tag(), Token: r.Token, Key: r.Key})
}

// opOf returns the op that a reply answers.
func opOf(r *wire.Reply) wire.Op {
	switch r.Kind {
	case wire.KindTimeout:
		return wire.OpAcquire
	case wire.KindMoved, wire.KindError:
		return r.Op
	default:
		return wire.Op(r.Kind)
	}
}
