package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

const (
	// redialEvery is how often a dropped connection is dialled again, give or take
	// a fifth, so that the clients of a server that restarts do not come at once.
	redialEvery = 3 * time.Second
	// soonestRedial is how soon after its last dial a link dials again for a call
	// that finds no connection, give or take a fifth.
	soonestRedial = 200 * time.Millisecond
	// extraDials is how many dials in a row may fail before a link to an address
	// that only a server named is dropped.
	extraDials = 5
	// maxHellos bounds the tries to find a connection number that the server takes.
	maxHellos = 10
)

// link keeps one connection to an address up.
type link struct {
	client  *Client
	addr    string // as the user or a server wrote it
	network string
	target  string // what is dialled
	extra   bool   // not one of the addresses given
	ctx     context.Context
	stop    context.CancelFunc
	poke    chan struct{} // a call finds no connection

	// Guarded by the mutex of routes:

	conn     *conn // nil while there is none
	err      error // what was wrong last
	failedAt time.Time
}

func (c *Client) newLink(addr string, extra bool) *link {
	l := &link{client: c, addr: addr, extra: extra, poke: make(chan struct{}, 1), err: errNotYet}
	l.network, l.target = networkOf(addr)
	l.ctx, l.stop = context.WithCancel(c.life)
	c.running.Go(l.run)
	return l
}

var errNotYet = errors.New("not connected yet")

// networkOf reads an address as New takes it.
func networkOf(addr string) (network, target string) {
	if path, is := strings.CutPrefix(addr, "unix/"); is {
		return "unix", path
	}
	return "tcp", addr
}

// checkAddr says what is wrong with an address.
func checkAddr(addr string) error {
	network, target := networkOf(addr)
	if network == "unix" {
		if target == "" {
			return fmt.Errorf("address %q: expected unix/ and a path, as unix//run/lock.sock", addr)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(target)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("address %q: expected host:port, as lock1.example.com:7301, or unix/ and a path", addr)
	}
	return nil
}

// run dials, and dials again when the connection ends, until the link is stopped.
func (l *link) run() {
	defer l.stop()
	var atOnce time.Time // when a dropped connection was last dialled again at once
	for failed := 0; l.ctx.Err() == nil; {
		began := time.Now()
		n, err := l.connect()
		if err != nil {
			failed++
			l.client.routes.failed(l, err)
			if l.extra && failed >= extraDials {
				l.client.routes.dropExtra(l)
				return
			}
			l.pause(began, redialEvery)
			continue
		}
		failed = 0
		l.client.routes.up(n)
		n.start()
		switch wasReplaced := l.serve(n); {
		case wasReplaced:
			l.pause(began, soonestRedial)
		case time.Since(atOnce) >= redialEvery:
			atOnce = time.Now()
		default:
			l.pause(began, redialEvery)
		}
	}
}

// serve waits for the end of n, or for the server's word that another connection
// should take its place.
func (l *link) serve(n *conn) (wasReplaced bool) {
	select {
	case <-n.closed:
		return false
	case <-n.replaced:
		return true
	case <-l.ctx.Done():
		if l.client.life.Err() != nil {
			n.close(ErrClosed)
		} else {
			n.close(errMoved) // an extra link whose place another took
		}
		return false
	}
}

// pause waits until about every has passed since began, or less if a call finds no
// connection.
func (l *link) pause(began time.Time, every time.Duration) {
	timer := time.NewTimer(time.Until(began.Add(jitter(every))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return
	case <-l.ctx.Done():
		return
	case <-l.poke:
	}
	timer.Reset(time.Until(began.Add(jitter(soonestRedial))))
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

// jitter returns d, give or take a fifth.
func jitter(d time.Duration) time.Duration {
	return d*4/5 + rand.N(d*2/5+1)
}

// connect dials and says hello.
func (l *link) connect() (*conn, error) {
	o := &l.client.o
	ctx, cancel := context.WithTimeoutCause(l.ctx, o.dialTimeout, fmt.Errorf("no connection within %s", o.dialTimeout))
	defer cancel()
	select {
	case <-l.poke: // this is the dial it asks for
	default:
	}
	l.client.count.dials.Add(1)
	raw, err := o.dial(ctx, l.network, l.target)
	if err != nil {
		return nil, l.because(ctx, err)
	}
	closing := context.AfterFunc(ctx, func() { raw.Close() })
	n, err := l.greet(ctx, raw)
	if !closing() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		raw.Close()
		return nil, l.because(ctx, err)
	}
	return n, nil
}

// because prefers the reason why the time was up to what that broke. What it
// returns never matches the end of a context: that means a caller's.
func (l *link) because(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && l.ctx.Err() == nil:
		return context.Cause(ctx)
	case isInterrupted(err):
		return errors.New(err.Error())
	}
	return err
}

// greet makes a connection ready for use.
func (l *link) greet(ctx context.Context, raw net.Conn) (*conn, error) {
	nc := raw
	if l.client.o.tls != nil {
		secured := tls.Client(raw, l.tlsConfig())
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		nc = secured
	}
	n := newConn(l, raw, nc)
	return n, n.hello()
}

func (l *link) tlsConfig() *tls.Config {
	config := l.client.o.tls
	if config.ServerName != "" || l.network == "unix" {
		return config
	}
	config = config.Clone()
	config.ServerName, _, _ = net.SplitHostPort(l.target)
	return config
}

// hello names the client. The number must be greater than any that the server has
// seen of this client, and another connection of it may have been faster.
func (n *conn) hello() error {
	for range maxHellos {
		n.n = n.link.client.numbers.Add(1)
		req := wire.Request{Op: wire.OpHello, Client: []byte(n.link.client.id), N: n.n}
		if _, err := n.nc.Write(wire.AppendRequest(nil, &req)); err != nil {
			return err
		}
		r, err := n.welcome()
		switch {
		case err != nil:
			return err
		case r.Kind == wire.KindHello:
			n.active = r.Role == wire.RoleActive
			n.decides = n.active
			n.generation = r.Generation
			if !n.active && string(r.Active) != "?" && string(r.Active) != "-" {
				n.news = append(n.news, news{addr: string(r.Active), generation: r.Generation})
			}
			return nil
		case r.Code != wire.CodeClientInUse:
			return fmt.Errorf("the server refused the hello: %s", r.Code)
		}
	}
	return fmt.Errorf("the server refused the hello %d times: %s", maxHellos, wire.CodeClientInUse)
}

// welcome waits for the answer to a hello.
func (n *conn) welcome() (r wire.Reply, err error) {
	for {
		line, ok := n.in.next()
		if !ok {
			if err := n.in.fill(); err != nil {
				return r, err
			}
			continue
		}
		switch err := wire.ParseReply(line, &r); {
		case err != nil:
			return r, fmt.Errorf("%w: %q", err, line)
		case r.Kind == wire.KindError && r.Op == 0:
			return r, serverError(r.Text)
		case r.Kind == wire.KindHello, r.Kind == wire.KindError && r.Op == wire.OpHello:
			return r, nil
		}
	}
}
