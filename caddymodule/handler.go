package caddymodule

import (
	"errors"
	"fmt"
	"net"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/mholt/caddy-l4/layer4"
	"go.uber.org/zap"
)

func init() {
	caddy.RegisterModule(&Handler{})
}

// Handler serves locks on a stream of bytes: a TCP or Unix connection, in the
// clear or after the handler `tls`. It is the last handler of its route. All
// handlers of a process serve the same locks; what limits them is configured in
// the app `lock`.
type Handler struct {
	host *host
	room int
	log  *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "layer4.handlers.lock",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision finds the host through the app, which is configured by default if it
// is not in the configuration.
func (h *Handler) Provision(ctx caddy.Context) error {
	app, err := ctx.App("lock")
	if err != nil {
		return fmt.Errorf("getting the lock app: %w", err)
	}
	h.host = app.(*App).host
	h.room = roomInGate()
	h.log = quiet(ctx.Logger())
	return nil
}

// Handle serves the connection until it is over. Configurations may come and go
// meanwhile.
func (h *Handler) Handle(cx *layer4.Connection, _ layer4.Handler) error {
	if _, packets := cx.LocalAddr().(*net.UDPAddr); packets {
		h.log.Warn("locks are not served over UDP; listen on tcp or unix", addressOf(cx))
		return nil
	}
	s, guarded := cx.GetVar(slotVar).(*slot)
	if guarded {
		s.prove()
	} else {
		if s = connections.enterProved(cx.Conn, h.room); s == nil {
			h.log.Warn("connections are refused: no more fit under the limit of open files", zap.Int("most", h.room), addressOf(cx))
			return nil
		}
		defer s.leave()
	}
	if err := h.host.serve(stream{cx}); err != nil {
		h.log.Warn("a connection was not served", zap.Error(err), addressOf(cx))
	}
	return nil
}

func addressOf(cx *layer4.Connection) zap.Field {
	return zap.String("client_addr", cx.RemoteAddr().String())
}

// stream is a connection as the node wants it. Reads go through the layer4
// connection, which still has the bytes that matchers have looked at.
type stream struct{ *layer4.Connection }

// CloseWrite says that nothing more is written, in the way of the innermost
// connection that has one: TLS says it in TLS, TCP and Unix sockets to the other
// end's system.
func (s stream) CloseWrite() error {
	conn := s.Conn
	for {
		switch c := conn.(type) {
		case *layer4.Connection:
			conn = c.Conn
		case interface{ CloseWrite() error }:
			return c.CloseWrite()
		default:
			return errors.ErrUnsupported
		}
	}
}

// UnmarshalCaddyfile sets up the Handler from Caddyfile tokens. Syntax:
//
//	lock
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // consume the handler's name
	return parseBlock(d, h, nil)
}

// Interface guards
var (
	_ caddy.Provisioner     = (*Handler)(nil)
	_ caddyfile.Unmarshaler = (*Handler)(nil)
	_ layer4.NextHandler    = (*Handler)(nil)
)
