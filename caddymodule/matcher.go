package caddymodule

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/mholt/caddy-l4/layer4"

	"github.com/caddylock/caddylock/lockcore/wire"
)

func init() {
	caddy.RegisterModule(&Matcher{})
}

// Matcher matches connections that speak the lock protocol, by their first bytes,
// so that one port can serve locks beside HTTPS or anything else. A client that
// speaks TLS is matched after the handler `tls` only.
type Matcher struct{}

// CaddyModule returns the Caddy module information.
func (*Matcher) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "layer4.matchers.lock",
		New: func() caddy.Module { return new(Matcher) },
	}
}

// Match returns true if the connection looks like the lock protocol.
func (*Matcher) Match(cx *layer4.Connection) (bool, error) {
	seen := cx.MatchingBytes()
	match, certain := wire.Recognize(seen)
	switch {
	case certain:
		return match, nil
	case len(seen) >= layer4.MaxMatchingBytes:
		return false, layer4.ErrMatchingBufferFull
	default:
		return false, layer4.ErrConsumedAllPrefetchedBytes
	}
}

// UnmarshalCaddyfile sets up the Matcher from Caddyfile tokens. Syntax:
//
//	lock
func (m *Matcher) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // consume the matcher's name
	return parseBlock(d, m, nil)
}

// Interface guards
var (
	_ caddyfile.Unmarshaler = (*Matcher)(nil)
	_ layer4.ConnMatcher    = (*Matcher)(nil)
)
