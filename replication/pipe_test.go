package replication

import (
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// pipeEnd is one end of a connection in memory. Unlike those of net.Pipe, its
// directions can be closed one by one, as TCP's can.
type pipeEnd struct{ in, out net.Conn }

func newPipe() (client, server *pipeEnd) {
	up, upEnd := net.Pipe()
	down, downEnd := net.Pipe()
	return &pipeEnd{in: downEnd, out: up}, &pipeEnd{in: upEnd, out: down}
}

func (p *pipeEnd) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p *pipeEnd) Write(b []byte) (int, error) { return p.out.Write(b) }

func (p *pipeEnd) CloseWrite() error { return p.out.Close() }

func (p *pipeEnd) Close() error {
	_ = p.out.Close()
	return p.in.Close()
}

func (p *pipeEnd) LocalAddr() net.Addr  { return p.in.LocalAddr() }
func (p *pipeEnd) RemoteAddr() net.Addr { return p.in.RemoteAddr() }

func (p *pipeEnd) SetReadDeadline(t time.Time) error  { return p.in.SetReadDeadline(t) }
func (p *pipeEnd) SetWriteDeadline(t time.Time) error { return p.out.SetWriteDeadline(t) }

func (p *pipeEnd) SetDeadline(t time.Time) error {
	_ = p.out.SetWriteDeadline(t)
	return p.in.SetReadDeadline(t)
}

// lentConn fails the test if the server uses the connection after it has given
// it back: its owner may have other plans with it.
type lentConn struct {
	halfCloser
	tb       testing.TB
	returned atomic.Bool
}

type halfCloser interface {
	net.Conn
	CloseWrite() error
}

func (l *lentConn) check(call string) {
	if l.returned.Load() {
		l.tb.Errorf("%s on a connection after Serve has returned", call)
	}
}

func (l *lentConn) Read(b []byte) (int, error) {
	l.check("Read")
	return l.halfCloser.Read(b)
}

func (l *lentConn) Write(b []byte) (int, error) {
	l.check("Write")
	return l.halfCloser.Write(b)
}

func (l *lentConn) SetReadDeadline(t time.Time) error {
	l.check("SetReadDeadline")
	return l.halfCloser.SetReadDeadline(t)
}

func (l *lentConn) SetDeadline(t time.Time) error {
	l.check("SetDeadline")
	return l.halfCloser.SetDeadline(t)
}
