package caddymodule

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen. It asserts no timing:
// it only ends a test that hangs.
const patience = 30 * time.Second

// eventually waits until check returns no error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// speaker speaks the protocol line by line, as one would by hand.
type speaker struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// speak connects to an address, which may be a Unix socket's path, as soon as
// somebody listens there.
func speak(t *testing.T, addr string) *speaker {
	t.Helper()
	var conn net.Conn
	eventually(t, func() (err error) {
		conn, err = net.DialTimeout(networkOf(addr), addr, patience)
		return err
	})
	return speakOver(t, conn)
}

// speakTLS connects with TLS, as soon as that is served.
func speakTLS(t *testing.T, addr string, config *tls.Config) *speaker {
	t.Helper()
	var conn net.Conn
	eventually(t, func() (err error) {
		conn, err = dialTLS(addr, config)
		return err
	})
	return speakOver(t, conn)
}

// dialTLS returns a connection that was answered: in TLS 1.3 a client learns
// only then whether its certificate was accepted.
func dialTLS(addr string, config *tls.Config) (net.Conn, error) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, networkOf(addr), addr, config)
	if err != nil {
		return nil, err
	}
	if err := ping(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// ping asks whether the lock server answers on the connection.
func ping(conn net.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(patience))
	defer func() { _ = conn.SetDeadline(time.Time{}) }()
	if _, err := io.WriteString(conn, "P\n"); err != nil {
		return err
	}
	answer := make([]byte, 2)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	if string(answer) != "P\n" {
		return fmt.Errorf("P was answered by %q", answer)
	}
	return nil
}

func networkOf(addr string) string {
	if strings.HasPrefix(addr, "/") {
		return "unix"
	}
	return "tcp"
}

func speakOver(t *testing.T, conn net.Conn) *speaker {
	t.Cleanup(func() { _ = conn.Close() })
	return &speaker{t: t, conn: conn, in: bufio.NewReader(conn)}
}

// say sends a line.
func (s *speaker) say(format string, args ...any) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.conn, format+"\n", args...); err != nil {
		s.t.Fatalf("sending %q: %v", format, err)
	}
}

// hear returns the next line.
func (s *speaker) hear() string {
	s.t.Helper()
	line, err := s.next()
	if err != nil {
		s.t.Fatalf("waiting for a line: %v", err)
	}
	return line
}

func (s *speaker) next() (string, error) {
	_ = s.conn.SetReadDeadline(time.Now().Add(patience))
	line, err := s.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// ask sends a line and returns the next one.
func (s *speaker) ask(format string, args ...any) string {
	s.t.Helper()
	s.say(format, args...)
	return s.hear()
}

// expect wants the answer to a line.
func (s *speaker) expect(line, answer string) {
	s.t.Helper()
	if got := s.ask("%s", line); got != answer {
		s.t.Fatalf("%q was answered by %q, want %q", line, got, answer)
	}
}

// acquire acquires a key that is free, and returns the token.
func (s *speaker) acquire(key, lease string) uint64 {
	s.t.Helper()
	return s.granted(s.ask("A %s 0 %s", lease, key), key)
}

// granted returns the token in a reply that grants the key.
func (s *speaker) granted(reply, key string) uint64 {
	s.t.Helper()
	var op, got string
	var token uint64
	if _, err := fmt.Sscanf(reply, "%s %d %s", &op, &token, &got); err != nil || !strings.HasPrefix(op, "A") || got != key {
		s.t.Fatalf("got %q, want a grant of %q", reply, key)
	}
	return token
}

// wantHeld wants the key to be held by the token.
func (s *speaker) wantHeld(key string, token uint64) {
	s.t.Helper()
	if got := s.holder(key); got != token {
		s.t.Fatalf("%s is held by token %d, want %d", key, got, token)
	}
}

// holder returns the token that holds the key, 0 for none.
func (s *speaker) holder(key string) uint64 {
	s.t.Helper()
	reply := s.ask("Q %s", key)
	var token uint64
	if _, err := fmt.Sscanf(reply, "Q %d ", &token); err != nil {
		s.t.Fatalf("Q %s was answered by %q", key, reply)
	}
	return token
}

// release gives the key back.
func (s *speaker) release(key string, token uint64) {
	s.t.Helper()
	s.expect(fmt.Sprintf("R %d %s", token, key), fmt.Sprintf("R %d %s", token, key))
}

// wantClosed wants the server to close the connection, without another word.
func (s *speaker) wantClosed() {
	s.t.Helper()
	line, err := s.next()
	if err == nil || line != "" {
		s.t.Fatalf("got the line %q, want the connection to be closed", line)
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		s.t.Fatal("the server does not close the connection")
	}
}
