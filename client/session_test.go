package client_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// session is a connection as the server sees it. The cluster's mutex guards all
// but link, sock and out.
type session struct {
	node *node
	link *link
	sock net.Conn
	out  *outbox
	// client and number are set by H. asked: a request has come.
	client         string
	number         uint64
	asked, refused bool
	// gone: ended or given up; nothing from it is carried out any more.
	gone bool
	// fates are what happens to the replies to a tag.
	fates map[uint64]action
	// gaveUp are the numbers named by X on this connection.
	gaveUp map[uint64]bool
	heard  time.Time
	silent *time.Timer
}

// action is what a server does with a request other than to carry it out and
// answer. The zero value is just that.
type action struct {
	// say is answered instead of carrying the request out.
	say string
	// ignore: neither carry out nor answer.
	ignore bool
	// drop: carry out, lose the reply.
	drop bool
	// late holds the reply back for so long.
	late time.Duration
	// twice: reply twice.
	twice bool
	// cutBefore and cutAfter reset the connection before the request is carried
	// out, or after it and before its reply leaves.
	cutBefore, cutAfter bool
}

// read carries out line after line until the connection ends.
func (s *session) read() {
	lines := bufio.NewReaderSize(s.sock, wire.MaxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		if !s.node.handle(s, strings.TrimSuffix(string(line), "\n")) {
			return
		}
	}
}

// say sends a line as it is.
func (s *session) say(line string) {
	s.node.cluster.history.note(s, "<", line)
	s.out.add(line + "\n")
}

// line spells a reply.
func line(r *wire.Reply) string { return strings.TrimSuffix(string(wire.AppendReply(nil, r)), "\n") }

// reply sends a reply, unless it has another fate.
func (s *session) reply(r *wire.Reply) {
	if s.node.untagged {
		untagged := *r
		untagged.Tag = 0
		s.say(line(&untagged))
		return
	}
	line := line(r)
	fate := s.fates[r.Tag]
	if r.Tag == 0 {
		fate = action{}
	}
	s.node.cluster.history.answered(s, r)
	switch {
	case fate.drop:
		s.node.cluster.history.note(s, "lost", line)
	case fate.late > 0:
		time.AfterFunc(fate.late, func() { s.sayLater(line) })
	default:
		s.say(line)
		if fate.twice {
			s.say(line)
		}
	}
}

func (s *session) sayLater(line string) {
	s.node.cluster.mu.Lock()
	defer s.node.cluster.mu.Unlock()
	s.say(line)
}

// answer sends the reply to a request about a key.
func (s *session) answer(r *wire.Request, reply *wire.Reply) {
	reply.Tag, reply.Key = r.Tag, r.Key
	s.reply(reply)
}

func (s *session) refuse(r *wire.Request, code wire.Code) {
	s.answer(r, &wire.Reply{Kind: wire.KindError, Op: r.Op, Code: code, Target: r.Target})
}

func (s *session) grant(tag uint64, l *lock) {
	s.reply(&wire.Reply{Kind: wire.KindGranted, Tag: tag, Token: l.token, Key: []byte(l.key)})
}

func (s *session) timeOut(tag uint64, key string) {
	s.reply(&wire.Reply{Kind: wire.KindTimeout, Tag: tag, Key: []byte(key)})
}

// owns reports whether the token holds the lock, and refuses the request if not.
func (s *session) owns(l *lock, r *wire.Request) bool {
	switch {
	case l.token == 0:
		s.refuse(r, wire.CodeNotHeld)
	case l.token != r.Token:
		s.refuse(r, wire.CodeTaken)
	}
	return l.token != 0 && l.token == r.Token
}

// malformed is the last word of a connection.
func (s *session) malformed(text string) bool {
	s.say("E malformed " + text)
	return false
}

func (s *session) String() string {
	return fmt.Sprintf("%s %s/%d link %d", s.node.addr, s.client, s.number, s.link.index)
}

// outbox writes lines in the order they were added, without ever holding up
// whoever adds one.
type outbox struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    []byte
	closed  bool
}

func newOutbox() *outbox {
	o := &outbox{}
	o.changed = sync.NewCond(&o.mu)
	return o
}

func (o *outbox) add(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, text...)
	o.changed.Broadcast()
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}

// take waits for text; nil means that none will come.
func (o *outbox) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.text) == 0 && !o.closed {
		o.changed.Wait()
	}
	text := o.text
	o.text = nil
	return text
}

// write sends until the outbox is closed and empty, then ends the connection.
func (o *outbox) write(to io.WriteCloser) {
	for text := o.take(); text != nil; text = o.take() {
		if _, err := to.Write(text); err != nil {
			break
		}
	}
	_ = to.Close()
}
