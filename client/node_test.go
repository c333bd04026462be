package client_test

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// node is one server: its address, the connections to it and what goes wrong at
// it. The cluster's mutex guards it.
type node struct {
	cluster  *cluster
	addr     string
	sessions map[*session]bool
	clients  map[string]*registered
	// table is the cluster's, unless the node decides on its own.
	table *table
	// claim, if not 0, is the generation in which the node calls itself active
	// whatever the cluster says.
	claim uint64
	// tls, if set, is spoken on every connection; untagged leaves the tags out of
	// the replies. Both are set before the first connection.
	tls      *tls.Config
	untagged bool
	// onRequest, if set, is asked about each request before it is carried out,
	// without the mutex.
	onRequest func(s *session, r *wire.Request) action
	// greeting, if set, is what H is answered by; goesOn is false if the
	// connection ends after it.
	greeting func(s *session, r *wire.Request) (line string, goesOn bool)
}

// registered is a client that named itself at this node.
type registered struct {
	greatest uint64
	open     map[uint64]*session
}

func (n *node) active() bool { return n.claim != 0 || n.cluster.active == n.addr }

func (n *node) generation() uint64 {
	if n.claim != 0 {
		return n.claim
	}
	return n.cluster.generation
}

// secure speaks TLS if the node does.
func (n *node) secure(sock net.Conn) net.Conn {
	if n.tls == nil {
		return sock
	}
	return tls.Server(sock, n.tls)
}

// serve is a connection's life.
func (n *node) serve(l *link) {
	s := &session{
		node: n, link: l, sock: n.secure(l.server), out: newOutbox(), heard: time.Now(),
		fates: make(map[uint64]action), gaveUp: make(map[uint64]bool),
	}
	s.silent = time.AfterFunc(clientTimeout, func() { n.cluster.silent(s) })
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.out.write(s.sock)
	}()
	n.cluster.locked(func() { n.sessions[s] = true })
	s.read()
	n.cluster.locked(func() { n.drop(s) })
	s.out.close()
	<-written
}

// drop takes a session out of the node.
func (n *node) drop(s *session) {
	n.cluster.history.ended(s)
	delete(n.sessions, s)
	s.gone = true
	s.silent.Stop()
	n.table.disconnect(s)
	if c := n.clients[s.client]; c != nil && c.open[s.number] == s {
		delete(c.open, s.number)
	}
}

// handle carries out one line. It returns false if the connection is to end.
func (n *node) handle(s *session, line string) bool {
	var r wire.Request
	err := wire.ParseRequest([]byte(line), &r)
	does := n.ask(s, &r, err)
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	defer n.cluster.arm()
	n.cluster.sweep()
	n.cluster.history.request(s, line, &r, err)
	s.heard = time.Now()
	s.silent.Reset(clientTimeout)
	return n.carryOut(s, &r, err, does)
}

func (n *node) ask(s *session, r *wire.Request, err error) action {
	hook := n.cluster.hookOf(n)
	if hook == nil || err != nil {
		return action{}
	}
	return hook(s, r)
}

func (n *node) carryOut(s *session, r *wire.Request, err error, does action) bool {
	switch {
	case s.gone:
		return false
	case does.cutBefore:
		s.link.reset()
		return false
	case does.ignore:
		return true
	case does.say != "":
		s.say(does.say)
		return true
	}
	if r.Tag != 0 {
		s.fates[r.Tag] = does
	}
	if does.cutAfter {
		s.link.reset()
	}
	return n.decide(s, r, err) && !does.cutAfter
}

// decide is the protocol.
func (n *node) decide(s *session, r *wire.Request, err error) bool {
	text, malformed := err.(wire.Malformed)
	code, refused := err.(wire.Code)
	switch {
	case malformed:
		return s.malformed(text.Error())
	case r.Op == wire.OpHello && err == nil:
		return n.hello(s, r)
	}
	s.asked = true
	switch {
	case r.Op == wire.OpPing:
		s.reply(&wire.Reply{Kind: wire.KindPong, Tag: r.Tag})
	case s.refused:
		s.refuse(r, wire.CodeNeedHello)
	case refused:
		s.refuse(r, code)
	case r.Op == wire.OpGiveUp:
		return n.giveUp(s, r)
	case !n.active():
		n.redirect(s, r)
	case r.Op == wire.OpCancel && s.client == "":
		s.refuse(r, wire.CodeNeedHello)
	default:
		n.table.apply(s, r)
	}
	return true
}

func (n *node) redirect(s *session, r *wire.Request) {
	if n.cluster.active == "" {
		s.refuse(r, wire.CodeNotReady)
		return
	}
	s.answer(r, &wire.Reply{Kind: wire.KindMoved, Addr: []byte(n.cluster.active), Op: r.Op, Target: r.Target})
}

func (n *node) hello(s *session, r *wire.Request) bool {
	if s.asked || s.client != "" {
		return s.malformed(wire.ErrHelloFirst.Error())
	}
	c := n.registeredAs(string(r.Client))
	if r.N <= c.greatest {
		s.refused = true
		s.refuse(r, wire.CodeClientInUse)
		return true
	}
	c.greatest, c.open[r.N] = r.N, s
	s.client, s.number, s.refused = string(r.Client), r.N, false
	if n.greeting != nil {
		line, goesOn := n.greeting(s, r)
		s.say(line)
		return goesOn
	}
	s.reply(n.helloReply(r))
	return true
}

func (n *node) helloReply(r *wire.Request) *wire.Reply {
	reply := &wire.Reply{Kind: wire.KindHello, Tag: r.Tag, Role: wire.RoleStandby, Generation: n.generation()}
	switch {
	case n.active():
		reply.Role, reply.Active = wire.RoleActive, []byte("-")
	case n.cluster.active == "":
		reply.Active = []byte("?")
	default:
		reply.Active = []byte(n.cluster.active)
	}
	return reply
}

func (n *node) registeredAs(client string) *registered {
	c := n.clients[client]
	if c == nil {
		c = &registered{open: make(map[uint64]*session)}
		n.clients[client] = c
	}
	return c
}

// giveUp ends another connection of the client at this node.
func (n *node) giveUp(s *session, r *wire.Request) bool {
	if s.client == "" {
		s.refuse(r, wire.CodeNeedHello)
		return true
	}
	c := n.registeredAs(s.client)
	c.greatest = max(c.greatest, r.N)
	s.gaveUp[r.N] = true
	other := c.open[r.N]
	if other != nil && other != s {
		n.drop(other)
		other.out.close()
		_ = other.link.server.Close()
	}
	s.reply(&wire.Reply{Kind: wire.KindGaveUp, Tag: r.Tag, N: r.N})
	return other != s
}

// notice tells every connection to the node where the active is.
func (n *node) notice(addr string, generation uint64) {
	line := line(&wire.Reply{Kind: wire.KindMoved, Addr: []byte(addr), Generation: generation})
	for s := range n.sessions {
		s.say(line)
	}
}
