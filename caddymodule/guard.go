package caddymodule

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/mholt/caddy-l4/layer4"
	"go.uber.org/zap"
)

func init() {
	caddy.RegisterModule(&Guard{})
}

// Guard keeps clients that connect and prove nothing from using up what all
// clients need. It is the first handler of its route, before `tls`, and guards
// the handlers after it in the same route:
//
//	route {
//		lock_guard
//		tls
//		lock
//	}
//
// A connection has to get as far as the handler `lock` in time, which with TLS
// means: to complete the handshake. Of all the connections in the process at most
// half may be on that way; past that the oldest is dropped for the newest, so
// that silent clients cannot shut others out.
type Guard struct {
	// How long a connection may take to get to the handler lock. From 100ms to
	// 10m. Default: 10s.
	HandshakeTimeout caddy.Duration `json:"handshake_timeout,omitempty"`

	// How many connections the process may have in all its lock handlers and
	// guards; this guard drops what comes beyond that. Default, and most: what the
	// process's limit of open files leaves room for.
	MaxConnections int `json:"max_connections,omitempty"`

	timeout time.Duration
	limit   int
	log     *zap.Logger
}

// The range of handshake_timeout, and its default.
const (
	defaultHandshakeTimeout  = 10 * time.Second
	shortestHandshakeTimeout = 100 * time.Millisecond
	longestHandshakeTimeout  = 10 * time.Minute
)

// CaddyModule returns the Caddy module information.
func (*Guard) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "layer4.handlers.lock_guard",
		New: func() caddy.Module { return new(Guard) },
	}
}

// Provision checks the options.
func (g *Guard) Provision(ctx caddy.Context) error {
	g.timeout = defaultHandshakeTimeout
	override(&g.timeout, time.Duration(g.HandshakeTimeout))
	if g.timeout < shortestHandshakeTimeout || g.timeout > longestHandshakeTimeout {
		return fmt.Errorf("handshake_timeout is %s; write a duration from %s to %s",
			g.timeout, shortestHandshakeTimeout, longestHandshakeTimeout)
	}
	if g.MaxConnections < 0 {
		return fmt.Errorf("max_connections is %d; write a number from 1, or leave it out", g.MaxConnections)
	}
	g.limit = roomInGate()
	if g.MaxConnections != 0 {
		g.limit = min(g.limit, g.MaxConnections)
	}
	g.log = quiet(ctx.Logger())
	return nil
}

// Handle lets the connection through to the next handler, for a limited time
// until it is proved.
func (g *Guard) Handle(cx *layer4.Connection, next layer4.Handler) error {
	if cx.GetVar(slotVar) != nil {
		return next.Handle(cx)
	}
	s := connections.enter(cx.Conn, g.limit)
	if s == nil {
		g.log.Warn("connections are dropped: as many as may be are open", zap.Int("most", g.limit), addressOf(cx))
		return nil
	}
	defer s.leave()
	cx.SetVar(slotVar, s)
	if err := cx.SetDeadline(time.Now().Add(g.timeout)); err != nil {
		return nil // it is closed already
	}
	if err := next.Handle(cx); err != nil {
		g.report(cx, err)
	}
	// For routes after this one, which the deadline is not meant for.
	_ = cx.SetDeadline(time.Time{})
	return nil
}

// report logs why a connection did not get to the lock server. It is not left to
// caddy-l4, which writes an error for each.
func (g *Guard) report(cx *layer4.Connection, err error) {
	if isGone(err) {
		g.log.Debug("a connection ended before it was proved", zap.Error(err), addressOf(cx))
		return
	}
	g.log.Warn("a connection failed before it was proved", zap.Error(err), addressOf(cx))
}

// isGone says that err is how a connection looks whose client is silent, has gone
// away, or was dropped.
func isGone(err error) bool {
	for _, gone := range []error{io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// UnmarshalCaddyfile sets up the Guard from Caddyfile tokens. Syntax:
//
//	lock_guard {
//		handshake_timeout <duration>
//		max_connections   <number>
//	}
func (g *Guard) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // consume the handler's name
	return parseBlock(d, g, []option[Guard]{
		durationOption("handshake_timeout", "10s", func(g *Guard) *caddy.Duration { return &g.HandshakeTimeout }),
		numberOption("max_connections", "5000", func(g *Guard) *int { return &g.MaxConnections }),
	})
}

// Interface guards
var (
	_ caddy.Provisioner     = (*Guard)(nil)
	_ caddyfile.Unmarshaler = (*Guard)(nil)
	_ layer4.NextHandler    = (*Guard)(nil)
)
