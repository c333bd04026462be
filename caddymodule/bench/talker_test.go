package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// talkTimeout bounds every wait for a reply that must come.
const talkTimeout = 20 * time.Second

// talker is a connection for what is said now and then; lanes are for load.
type talker struct {
	net.Conn
	replies *bufio.Reader
}

func dialTalker(addr string) (*talker, error) {
	conn, err := net.DialTimeout("tcp", addr, talkTimeout)
	if err != nil {
		return nil, err
	}
	// The least buffer: some benchmarks hold thousands of talkers.
	return &talker{conn, bufio.NewReaderSize(conn, 16)}, nil
}

// dialTalkers opens connections that are closed with the benchmark at the latest.
func dialTalkers(b *testing.B, addr string, n int) []*talker {
	b.Helper()
	talkers := make([]*talker, n)
	for i := range talkers {
		t, err := dialTalker(addr)
		if err != nil {
			b.Fatalf("opening connection %d of %d: %v", i+1, n, err)
		}
		b.Cleanup(func() { t.Close() })
		talkers[i] = t
	}
	return talkers
}

// ask sends a line and returns the reply.
func (t *talker) ask(line string) (string, error) {
	_ = t.SetDeadline(time.Now().Add(talkTimeout))
	if _, err := io.WriteString(t, line+"\n"); err != nil {
		return "", fmt.Errorf("sending %q: %w", line, err)
	}
	reply, err := t.replies.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("reading the reply to %q: %w", line, err)
	}
	return strings.TrimSuffix(reply, "\n"), nil
}

// expect asks and holds the start of the reply against what is wanted.
func (t *talker) expect(line, want string) error {
	reply, err := t.ask(line)
	if err == nil && !strings.HasPrefix(reply, want) {
		err = fmt.Errorf("sent %q, got %q", line, reply)
	}
	return err
}
