// Package caddylock plugs the lock server into Caddy. Importing it is all there
// is to do:
//
//	xcaddy build --with github.com/caddylock/caddylock
//
// The modules themselves are in package caddymodule, the command line "caddy lock"
// in package command. The standard modules of caddy-l4 come along, for a lock
// server listens through them.
package caddylock

import (
	// The listeners, and the handlers and matchers that go before lock: tls,
	// proxy_protocol, remote_ip, …
	_ "github.com/mholt/caddy-l4"

	_ "github.com/caddylock/caddylock/caddymodule"
	_ "github.com/caddylock/caddylock/caddymodule/command"
)
