package replication

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"
)

// phone is a client of a test that does one thing after the other, in real
// time. Nothing it waits for may last longer than patience.
type phone struct {
	tb    testing.TB
	sock  net.Conn
	lines *bufio.Reader
}

// patience is how long a test waits for what must happen soon.
const patience = 20 * time.Second

// phone connects to the node in memory.
func (h *host) phone() *phone {
	client, server := newPipe()
	h.serve(server)
	return newPhone(h.tb, client)
}

func newPhone(tb testing.TB, sock net.Conn) *phone {
	p := &phone{tb: tb, sock: sock, lines: bufio.NewReader(sock)}
	_ = sock.SetDeadline(time.Now().Add(patience))
	tb.Cleanup(p.hangUp)
	return p
}

func (p *phone) hangUp() { _ = p.sock.Close() }

// say sends whole lines.
func (p *phone) say(lines ...string) {
	p.tb.Helper()
	if _, err := p.sock.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		p.tb.Errorf("saying %q: %v", lines, err)
	}
}

// hear reads one line.
func (p *phone) hear() string {
	p.tb.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		p.tb.Errorf("waiting for a line: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// ask sends one line and returns its reply.
func (p *phone) ask(line string) string {
	p.tb.Helper()
	p.say(line)
	return p.hear()
}

// expect asks and fails unless the reply is the one wanted.
func (p *phone) expect(line, want string) {
	p.tb.Helper()
	if got := p.ask(line); got != want {
		p.tb.Errorf("%q is answered by %q, want %q", line, got, want)
	}
}

// acquire asks for a free key and returns the token.
func (p *phone) acquire(lease, key string) (token string) {
	p.tb.Helper()
	return tokenOf(p.tb, p.ask("A "+lease+" try "+key))
}

// tokenOf returns the token of a grant.
func tokenOf(tb testing.TB, line string) string {
	tb.Helper()
	kind, rest, _ := strings.Cut(line, " ")
	token, _, _ := strings.Cut(rest, " ")
	if !strings.HasPrefix(kind, "A") {
		tb.Errorf("got %q, want a grant", line)
	}
	return token
}

// eventually waits until something is so.
func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("after %s it is still not so: %s", patience, what)
		}
	}
}
