package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"github.com/gofrs/flock"

	"github.com/caddylock/caddylock/replication"
)

// hosts has one entry while any configuration refers to it. Its key is a name
// and not the options, so that changed options do not make a second node.
var hosts = caddy.NewUsagePool()

// referHost returns the process's host. Every call needs one of releaseHost.
func referHost() *host {
	h, _, _ := hosts.LoadOrNew(nodeName, func() (caddy.Destructor, error) { return newHost(), nil })
	return h.(*host)
}

func releaseHost() { _, _ = hosts.Delete(nodeName) }

// host runs the node on behalf of the apps that are started.
type host struct {
	// node is the one that will run, runs, or ran last. Connections that come
	// before the start are already its own.
	node atomic.Pointer[replication.Node]

	// mu guards the rest, and is held over starts and ends.
	mu sync.Mutex
	// apps are those started and not yet stopped, in the order of their starts.
	apps []*App
	// file is held exactly while the node runs.
	file *flock.Flock
	// prefix goes before the node's storage keys.
	prefix string
	// used says that node was started, and so cannot be started again.
	used bool
}

func newHost() *host {
	h := &host{}
	h.node.Store(replication.NewNode())
	return h
}

// Destruct makes host a [caddy.Destructor]. The node that ran was ended with the
// last app. One that was never started may have connections that came meanwhile:
// they are closed, so that their clients come back to the next one.
func (h *host) Destruct() error {
	ctx, cancel := context.WithTimeout(context.Background(), defaultShutdownTimeout)
	defer cancel()
	return h.node.Load().Shutdown(ctx)
}

// errExiting keeps a configuration that is loaded during an exit from starting
// the node again.
var errExiting = errors.New("caddy is exiting")

// add makes a started app the newest one.
func (h *host) add(a *App) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if caddy.Exiting() {
		return errExiting
	}
	if h.file == nil {
		if err := h.begin(a); err != nil {
			return err
		}
	} else {
		h.node.Load().Reconfigure(h.env(a))
	}
	h.apps = append(h.apps, a)
	return nil
}

// remove takes an app out, if it is there. What the newest of the remaining apps
// says counts from now on; without one, the node ends.
func (h *host) remove(a *App) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.apps, a)
	if i < 0 {
		return nil
	}
	if len(h.apps) == 1 {
		err := h.endLocked()
		h.apps = nil
		return err
	}
	h.apps = slices.Delete(h.apps, i, i+1)
	if i == len(h.apps) && h.file != nil {
		h.node.Load().Reconfigure(h.env(h.newest()))
	}
	return nil
}

// end ends the node, although apps are started: the process exits.
func (h *host) end() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endLocked()
}

func (h *host) newest() *App { return h.apps[len(h.apps)-1] }

// env is what the node is run with on behalf of a.
func (h *host) env(a *App) replication.Env {
	s := &a.settings
	return replication.Env{Options: s.options, Storage: s.storage, Prefix: h.prefix, Log: s.log}
}

// begin starts a node on behalf of a, or undoes what it did. It is called with
// mu held.
func (h *host) begin(a *App) error {
	file, err := lockNodeFile()
	if err != nil {
		return err
	}
	if err := h.startNode(a); err != nil {
		_ = file.Unlock()
		return err
	}
	h.file = file
	warnOfFewDescriptors(a.settings.log)
	return nil
}

// startNode starts a node that has not been started before.
func (h *host) startNode(a *App) error {
	id, err := identity()
	if err != nil {
		return err
	}
	h.prefix = "caddylock/" + id + "/" + nodeName + "/"
	node := h.node.Load()
	if h.used {
		node = replication.NewNode()
	}
	if err := node.Start(context.Background(), h.env(a)); err != nil {
		return fmt.Errorf("starting the lock node: %w", err)
	}
	h.node.Store(node)
	h.used = true
	return nil
}

// endLocked shuts the node down, unless that is done, and lets another process
// have it. It is called with mu held, while an app is started.
func (h *host) endLocked() error {
	if h.file == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.newest().settings.shutdownTimeout)
	defer cancel()
	err := h.node.Load().Shutdown(ctx)
	err = errors.Join(err, h.file.Unlock())
	h.file = nil
	return err
}

// serve serves a connection until it is over.
func (h *host) serve(conn net.Conn) error { return h.node.Load().Serve(conn) }

// Interface guard
var _ caddy.Destructor = (*host)(nil)
