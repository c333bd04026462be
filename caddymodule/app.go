package caddymodule

import (
	"context"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"go.uber.org/zap"

	"github.com/caddylock/caddylock/replication"
)

func init() {
	caddy.RegisterModule(&App{})
}

// App is the lock server of this Caddy process: the options that all its
// listeners share. Every option has a default, so the app need not be configured;
// a layer4 server with the handler `lock` is enough. A reload changes options at
// once, also for connections that are open, and loses no lock.
type App struct {
	// The longest lease a client may ask for. Default: 24h.
	MaxLease caddy.Duration `json:"max_lease,omitempty"`

	// How many keys may be held or waited for at a time. Default: 10000000.
	MaxKeys int `json:"max_keys,omitempty"`

	// How many acquires may wait for one key. Default: 100000.
	MaxWaitersPerKey int `json:"max_waiters_per_key,omitempty"`

	// How many client connections are served at a time. Default: 100000, or what
	// the process's limit of open files leaves room for if that is less. A greater
	// number than that is lowered to it, with a warning.
	MaxConnections int `json:"max_connections,omitempty"`

	// The length of the longest key, in bytes, at most 1024. Default: 1024.
	MaxKeyBytes int `json:"max_key_bytes,omitempty"`

	// How many bytes of replies may wait for a client that does not read them,
	// at least 65536. Past that it is disconnected. Default: 1048576.
	MaxOutbox int `json:"max_outbox,omitempty"`

	// How long an acquire that can be repeated keeps its place after its
	// connection was lost. Default: 5s.
	ReconnectGrace caddy.Duration `json:"reconnect_grace,omitempty"`

	// After how much silence a client that waits for locks counts as gone, and how
	// long it may leave replies unread. Default: 15s.
	ClientTimeout caddy.Duration `json:"client_timeout,omitempty"`

	// How long stopping may take: storing the locks for the next start, and telling
	// the clients. Connections that are open after it are cut. From 100ms to 10m.
	// Default: 5s.
	ShutdownTimeout caddy.Duration `json:"shutdown_timeout,omitempty"`

	settings settings
	// host is set while this app holds a reference to it.
	host *host
}

// settings are what an app brings into a host.
type settings struct {
	options         replication.Options
	storage         replication.Storage
	log             *zap.Logger
	shutdownTimeout time.Duration
}

// The range of shutdown_timeout, and its default.
const (
	defaultShutdownTimeout  = 5 * time.Second
	shortestShutdownTimeout = 100 * time.Millisecond
	longestShutdownTimeout  = 10 * time.Minute
)

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "lock",
		New: func() caddy.Module { return new(App) },
	}
}

// Provision checks the options and finds the host. It starts and changes
// nothing: Caddy provisions also what it only validates.
func (a *App) Provision(ctx caddy.Context) error {
	log := ctx.Logger()
	s, err := a.resolve(roomForConnections(), log)
	if err != nil {
		return err
	}
	s.storage, s.log = ctx.Storage(), log
	a.settings = s
	events, err := ctx.App("events")
	if err != nil {
		return fmt.Errorf("getting the events app: %w", err)
	}
	if err := events.(*caddyevents.App).On("stopping", stoppingHandler{a}); err != nil {
		return fmt.Errorf("subscribing to the event stopping: %w", err)
	}
	a.host = referHost()
	return nil
}

// resolve returns what counts once defaults are filled in. room is how many
// connections the process has descriptors for.
func (a *App) resolve(room int, log *zap.Logger) (settings, error) {
	o := replication.DefaultOptions()
	o.MaxConnections = min(o.MaxConnections, room)
	override(&o.MaxLease, time.Duration(a.MaxLease))
	override(&o.MaxKeys, a.MaxKeys)
	override(&o.MaxWaitersPerKey, a.MaxWaitersPerKey)
	override(&o.MaxConnections, a.MaxConnections)
	override(&o.MaxKeyBytes, a.MaxKeyBytes)
	override(&o.MaxOutbox, a.MaxOutbox)
	override(&o.ReconnectGrace, time.Duration(a.ReconnectGrace))
	override(&o.ClientTimeout, time.Duration(a.ClientTimeout))
	if err := o.Validate(); err != nil {
		return settings{}, err
	}
	if o.MaxConnections > room {
		log.Warn("max_connections is lowered to what the limit of open files leaves room for; raise that limit (ulimit -n, LimitNOFILE)",
			zap.Int("max_connections", o.MaxConnections), zap.Int("lowered_to", room))
		o.MaxConnections = room
	}
	timeout := defaultShutdownTimeout
	override(&timeout, time.Duration(a.ShutdownTimeout))
	if timeout < shortestShutdownTimeout || timeout > longestShutdownTimeout {
		return settings{}, fmt.Errorf("shutdown_timeout is %s; write a duration from %s to %s",
			timeout, shortestShutdownTimeout, longestShutdownTimeout)
	}
	return settings{options: o, shutdownTimeout: timeout}, nil
}

// override replaces a default by what is configured.
func override[T comparable](value *T, configured T) {
	var unset T
	if configured != unset {
		*value = configured
	}
}

// Start makes this app's options the ones that count. The first app to start
// starts the node.
func (a *App) Start() error { return a.host.add(a) }

// Stop ends what Start began. The last app to stop stops the node.
func (a *App) Stop() error { return a.host.remove(a) }

// Cleanup gives back what Provision took. Caddy can clean up an app that was
// started and never stopped.
func (a *App) Cleanup() error {
	if a.host == nil {
		return nil
	}
	err := a.host.remove(a)
	a.host = nil
	releaseHost()
	return err
}

// stoppingHandler is called before any app of the configuration stops. If Caddy
// exits, the host ends now: other apps may take for ever to stop, and Caddy stops
// them in random order, so waiting for Stop would risk the locks.
type stoppingHandler struct{ app *App }

// Handle implements [caddyevents.Handler].
func (h stoppingHandler) Handle(context.Context, caddy.Event) error {
	if !caddy.Exiting() || h.app.host == nil {
		return nil
	}
	return h.app.host.end()
}

// Interface guards
var (
	_ caddy.App           = (*App)(nil)
	_ caddy.Provisioner   = (*App)(nil)
	_ caddy.CleanerUpper  = (*App)(nil)
	_ caddyevents.Handler = stoppingHandler{}
)
