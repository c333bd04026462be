package replication

import (
	"bytes"
	"errors"
	"net"
	"time"

	"github.com/caddylock/caddylock/lockcore"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// Errors of Serve. A connection that its client ends, or that breaks, is none.
var (
	// ErrTooManyConnections: max_connections are open.
	ErrTooManyConnections = errors.New("too many connections")
	// ErrStopped: the node has been shut down.
	ErrStopped = errors.New("the lock node has been shut down")
)

const (
	// drainTime and drainBytes bound how long the server reads on after its last
	// word. Closing a socket with unread bytes resets it, and a reset can take
	// that word from the client before it was read.
	drainTime  = 500 * time.Millisecond
	drainBytes = 4 << 20
	// goodbyeTime bounds the closing of a connection, its last replies included.
	goodbyeTime = time.Second
)

// Serve serves one client connection until it has ended or is to be closed. The
// caller then closes it. Nothing uses the connection any more once Serve has
// returned. If the connection has a method CloseWrite() error, it is used to say
// goodbye without losing the last replies.
func (n *Node) Serve(sock net.Conn) error {
	_ = sock.SetDeadline(time.Time{})
	c := &Conn{node: n, sock: sock, owner: &lockcore.Owner{Addr: sock.RemoteAddr().String()}}
	c.out.writing = make(chan struct{}, 1)
	c.heard.Store(int64(n.now()))
	if err := n.conns.add(c, n.options.Load().MaxConnections); err != nil {
		c.turnAway(err)
		return err
	}
	defer n.conns.remove(c)
	c.read()
	c.end()
	return nil
}

// turnAway tells a client that it is not served. It does not wait for the
// client to have read it: a flood of connections must not be held open.
func (c *Conn) turnAway(why error) {
	c.malformed(wire.Malformed(why.Error() + "; try again later"))
	_ = c.sock.SetDeadline(time.Now().Add(goodbyeTime))
	_ = c.flush()
}

// read carries out what the client sends, one batch after the other. It ends
// when the connection does, or when nothing more may be read from it.
func (c *Conn) read() {
	buf := make([]byte, wire.MaxLine)
	filled := 0
	for open := true; open; {
		got, err := c.sock.Read(buf[filled:])
		if got == 0 && err != nil {
			return
		}
		now := c.node.now()
		c.heard.Store(int64(now))
		filled += got
		var used int
		used, open = c.handleLines(now, buf[:filled])
		filled = copy(buf, buf[used:filled])
		if open && filled == len(buf) {
			c.malformed(wire.ErrLineTooLong)
			open = false
		}
		if c.flush() != nil {
			return
		}
	}
}

// handleLines carries out every whole line and returns how many bytes they
// were.
func (c *Conn) handleLines(now lockcore.Instant, buf []byte) (used int, open bool) {
	for {
		end := bytes.IndexByte(buf[used:], '\n')
		if end < 0 {
			return used, true
		}
		line := buf[used : used+end]
		used += end + 1
		if !c.handle(now, line) {
			return used, false
		}
	}
}

// end takes the connection out of the node.
func (c *Conn) end() {
	now := c.node.now()
	c.gone.Store(true)
	if c.waited {
		c.leaveShards(now)
	}
	if c.client != nil {
		c.node.clients.close(c.client, c.number, now)
	}
	c.goodbye()
}

// goodbye writes the last replies and lets the client read them. Nothing writes
// to the connection after it.
func (c *Conn) goodbye() {
	_ = c.sock.SetDeadline(time.Now().Add(goodbyeTime))
	if c.aborted.Load() {
		c.abort()
	}
	if c.flush() == nil && !c.aborted.Load() {
		c.drain()
	}
	c.abort()
	c.giveBack()
}

// drain reads until the client has closed, within bounds.
func (c *Conn) drain() {
	half, ok := c.sock.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.sock.SetReadDeadline(time.Now().Add(drainTime))
	if c.aborted.Load() {
		return
	}
	buf := make([]byte, wire.MaxLine)
	for read := 0; read < drainBytes; {
		got, err := c.sock.Read(buf)
		if err != nil {
			return
		}
		read += got
	}
}
