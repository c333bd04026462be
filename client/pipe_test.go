package client_test

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// laneBuffer is what a lane holds before its writer has to wait for the reader,
// as the buffers of a socket do.
const laneBuffer = 256 << 10

// lane is one direction of a connection in memory. Its waits are those of a
// condition variable, so that virtual time passes while somebody is in one.
type lane struct {
	mu      sync.Mutex
	changed *sync.Cond
	pieces  []piece
	// buffered and passed count bytes: those on the way, and all since the start.
	buffered, passed int
	trouble          trouble
	// readErr is what is read after the last piece, writeErr what is answered to
	// a write; nil while the lane is open at that end.
	readErr, writeErr   error
	readTime, writeTime deadline
	// abandoned: the reading end was closed.
	abandoned bool
	// cut resets the whole connection. It is called without the mutex.
	cut func()
}

// trouble is what goes wrong on a lane. The zero value is none.
type trouble struct {
	// swallow loses whatever is written, the end included.
	swallow bool
	// cutAt resets the connection in place of its byte of this number, from 1.
	cutAt int
	// delay is how long a byte is on its way.
	delay time.Duration
	// atMost is how many bytes one read returns.
	atMost int
}

// piece is what was written at once.
type piece struct {
	arrives time.Time
	bytes   []byte
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newLane(cut func()) *lane {
	l := &lane{cut: cut}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// wake lets those who wait look again.
func (l *lane) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed.Broadcast()
}

func (l *lane) setDeadline(d *deadline, at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.at = at
	if !at.IsZero() {
		d.timer = time.AfterFunc(time.Until(at), l.wake)
	}
	l.changed.Broadcast()
	return nil
}

func (l *lane) read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.abandoned:
			return 0, net.ErrClosed
		case l.readTime.passed():
			return 0, os.ErrDeadlineExceeded
		case len(l.pieces) > 0 && !l.pieces[0].arrives.After(time.Now()):
			return l.take(b), nil
		case len(l.pieces) == 0 && l.readErr != nil:
			return 0, l.readErr
		}
		l.changed.Wait()
	}
}

// take moves bytes of the first piece to the reader.
func (l *lane) take(b []byte) int {
	if most := l.trouble.atMost; most > 0 && len(b) > most {
		b = b[:most]
	}
	first := &l.pieces[0]
	n := copy(b, first.bytes)
	first.bytes = first.bytes[n:]
	l.buffered -= n
	if len(first.bytes) == 0 {
		l.pieces = l.pieces[1:]
	}
	l.changed.Broadcast()
	return n
}

func (l *lane) write(b []byte) (int, error) {
	cut, err := l.put(b)
	if cut {
		l.cut()
	}
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// put sends what may pass. A write that is cut succeeds: it is only later that a
// writer learns where its bytes are.
func (l *lane) put(b []byte) (cut bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.writeErr != nil:
			return false, l.writeErr
		case l.writeTime.passed():
			return false, os.ErrDeadlineExceeded
		case l.trouble.swallow:
			return false, nil
		case l.buffered < laneBuffer:
			return l.pass(b), nil
		}
		l.changed.Wait()
	}
}

// pass queues bytes up to the one that is cut.
func (l *lane) pass(b []byte) (cut bool) {
	if at := l.trouble.cutAt; at > 0 && l.passed+len(b) >= at {
		cut = true
		b = b[:max(0, at-1-l.passed)]
	}
	l.passed += len(b)
	l.buffered += len(b)
	if len(b) > 0 {
		l.pieces = append(l.pieces, piece{time.Now().Add(l.trouble.delay), append([]byte(nil), b...)})
	}
	if l.trouble.delay > 0 {
		time.AfterFunc(l.trouble.delay, l.wake)
	}
	l.changed.Broadcast()
	return cut
}

// end closes the writing end: what is on its way arrives, then readErr.
func (l *lane) end(readErr, writeErr error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writeErr == nil {
		l.writeErr = writeErr
	}
	if l.readErr == nil && !l.trouble.swallow {
		l.readErr = readErr
	}
	l.changed.Broadcast()
}

// abandon closes the reading end.
func (l *lane) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abandoned = true
	l.pieces, l.buffered = nil, 0
	if l.writeErr == nil && !l.trouble.swallow {
		l.writeErr = syscall.EPIPE
	}
	l.changed.Broadcast()
}

// vanish loses everything from now on, and what is on its way.
func (l *lane) vanish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble.swallow = true
	l.pieces, l.buffered = nil, 0
	l.changed.Broadcast()
}

// slow delays what is written from now on.
func (l *lane) slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble.delay = delay
}

// link is a connection in memory: up goes from the client to the server.
type link struct {
	addr string
	// index counts the connections of the network from 0.
	index          int
	up, down       *lane
	client, server *end
}

func newLink(addr string, index int) *link {
	l := &link{addr: addr, index: index}
	l.up, l.down = newLane(l.reset), newLane(l.reset)
	l.client = &end{in: l.down, out: l.up, closed: make(chan struct{})}
	l.server = &end{in: l.up, out: l.down, closed: make(chan struct{})}
	return l
}

// reset breaks the connection: both ends notice.
func (l *link) reset() {
	l.up.end(syscall.ECONNRESET, syscall.ECONNRESET)
	l.down.end(syscall.ECONNRESET, syscall.ECONNRESET)
}

// vanish makes the connection a black hole: neither end notices.
func (l *link) vanish() {
	l.up.vanish()
	l.down.vanish()
}

// end is one end of a link.
type end struct {
	in, out *lane
	once    sync.Once
	closed  chan struct{}
}

func (e *end) Read(b []byte) (int, error)  { return e.in.read(b) }
func (e *end) Write(b []byte) (int, error) { return e.out.write(b) }

func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	e.out.end(io.EOF, net.ErrClosed)
	e.in.abandon()
	return nil
}

// CloseWrite ends one direction, as TCP can.
func (e *end) CloseWrite() error {
	e.out.end(io.EOF, net.ErrClosed)
	return nil
}

func (e *end) isClosed() bool {
	select {
	case <-e.closed:
		return true
	default:
		return false
	}
}

func (e *end) LocalAddr() net.Addr  { return &net.UnixAddr{Name: "memory"} }
func (e *end) RemoteAddr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (e *end) SetReadDeadline(t time.Time) error  { return e.in.setDeadline(&e.in.readTime, t) }
func (e *end) SetWriteDeadline(t time.Time) error { return e.out.setDeadline(&e.out.writeTime, t) }

func (e *end) SetDeadline(t time.Time) error {
	_ = e.SetReadDeadline(t)
	return e.SetWriteDeadline(t)
}
