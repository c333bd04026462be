package client_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fakeNet is a network in memory, for client.WithDialer. Addresses that nobody
// listens at are refused.
type fakeNet struct {
	mu    sync.Mutex
	hosts map[string]*fakeHost
	links []*link
	dials []dialed
	// onLink, if set, may trouble a new connection before a byte is sent on it.
	onLink func(l *link)
}

// fakeHost is what answers at an address.
type fakeHost struct {
	mode  dialMode
	serve func(l *link)
}

// dialMode is what a dial meets.
type dialMode int

const (
	accepts dialMode = iota
	// refuses: nobody listens.
	refuses
	// hangs: the dial is not answered before its context ends.
	hangs
	// mute: the connection is made, and nothing is ever heard from it.
	mute
)

// dialed is one dial.
type dialed struct {
	network, addr string
	at            time.Time
}

var errNoSuchHost = errors.New("no such host")

func newFakeNet() *fakeNet { return &fakeNet{hosts: make(map[string]*fakeHost)} }

// listen has an address served.
func (n *fakeNet) listen(addr string, serve func(l *link)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[addr] = &fakeHost{serve: serve}
}

// set changes what dials to an address meet.
func (n *fakeNet) set(addr string, mode dialMode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[addr].mode = mode
}

// acceptAll has every address accept connections again. It reports whether any
// did not.
func (n *fakeNet) acceptAll() (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, host := range n.hosts {
		changed = changed || host.mode != accepts
		host.mode = accepts
	}
	return changed
}

// trouble has every new connection handed to f.
func (n *fakeNet) trouble(f func(l *link)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onLink = f
}

// dial is the client's dialer.
func (n *fakeNet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	host, onLink := n.note(network, addr)
	switch {
	case host == nil:
		return nil, &net.OpError{Op: "dial", Net: network, Err: errNoSuchHost}
	case host.mode == refuses:
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	case host.mode == hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	l := n.newLink(addr)
	if onLink != nil {
		onLink(l)
	}
	if host.mode == mute {
		l.vanish()
	} else {
		go host.serve(l)
	}
	return l.client, nil
}

// note records a dial and returns a copy of the host as it is now.
func (n *fakeNet) note(network, addr string) (*fakeHost, func(*link)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials = append(n.dials, dialed{network, addr, time.Now()})
	host := n.hosts[addr]
	if host == nil {
		return nil, nil
	}
	was := *host
	return &was, n.onLink
}

func (n *fakeNet) newLink(addr string) *link {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := newLink(addr, len(n.links))
	n.links = append(n.links, l)
	return l
}

// all returns every connection there ever was.
func (n *fakeNet) all() []*link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]*link(nil), n.links...)
}

// link returns a connection by its index.
func (n *fakeNet) link(index int) *link { return n.all()[index] }

// dialsTo returns when an address was dialled.
func (n *fakeNet) dialsTo(addr string) (at []time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.dials {
		if d.addr == addr {
			at = append(at, d.at)
		}
	}
	return at
}

// open returns the connections to an address that the client has not closed and
// that are not broken; to any address if it is "".
func (n *fakeNet) open(addr string) (open []*link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		if (addr == "" || l.addr == addr) && !l.client.isClosed() && !l.broken() {
			open = append(open, l)
		}
	}
	return open
}

func (l *link) broken() bool {
	l.down.mu.Lock()
	defer l.down.mu.Unlock()
	return l.down.readErr != nil
}

// reset breaks all connections to an address.
func (n *fakeNet) reset(addr string) {
	for _, l := range n.open(addr) {
		l.reset()
	}
}

// vanish turns an address into a black hole: its connections as well as those
// made from now on.
func (n *fakeNet) vanish(addr string) {
	n.set(addr, mute)
	for _, l := range n.open(addr) {
		l.vanish()
	}
}

// checkClosed fails the test for connections that the client has not closed.
func (n *fakeNet) checkClosed(tb testing.TB) {
	tb.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		if !l.client.isClosed() {
			tb.Errorf("connection %d to %s was never closed", l.index, l.addr)
		}
	}
}
