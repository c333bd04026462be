package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// thinking is how long the fake server takes for what comes in one read. In the
// tests' virtual time it is what makes time pass.
const thinking = time.Millisecond

// server is a lock server over in-memory connections. It grants and releases, but
// for what a script answers in its place. Leases do not run out.
type server struct {
	running sync.WaitGroup

	mu      sync.Mutex
	conns   []*serverConn
	granted uint64
	holders map[string]uint64
	queues  map[string][]*serverConn
	seen    map[string]bool // keys that were asked for
	// script answers line n, from 0, on a connection, from 0. "" leaves it to the
	// server.
	script func(conn, n int, line string) (reply string)
}

// What a script does other than to reply.
const (
	hangUp = "hang up"
	ignore = "ignore"
)

type serverConn struct {
	net.Conn
	number int
	out    chan string
}

// newServer returns a server that ends with the test, once all of its connections
// are closed. In a bubble, one that is left open fails the test.
func newServer(t *testing.T) *server {
	s := &server{
		holders: map[string]uint64{},
		queues:  map[string][]*serverConn{},
		seen:    map[string]bool{},
		script:  func(int, int, string) string { return "" },
	}
	t.Cleanup(s.running.Wait)
	return s
}

func (s *server) dial(context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &serverConn{Conn: theirs, number: len(s.conns), out: make(chan string, 10_000)}
	s.conns = append(s.conns, c)
	s.running.Go(c.write)
	s.running.Go(func() { s.serve(c) })
	return ours, nil
}

func (c *serverConn) write() {
	for line := range c.out {
		if _, err := io.WriteString(c, line+"\n"); err != nil {
			return
		}
	}
}

func (s *server) serve(c *serverConn) {
	defer s.hangUp(c)
	in := bufio.NewReaderSize(c, 64<<10)
	for n := 0; ; n++ {
		if in.Buffered() == 0 {
			_, _ = in.Peek(1)
			time.Sleep(thinking)
		}
		line, err := in.ReadString('\n')
		if err != nil || !s.answer(c, n, strings.TrimSuffix(line, "\n")) {
			return
		}
	}
}

func (s *server) hangUp(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, queue := range s.queues {
		s.queues[key] = without(queue, c)
	}
	c.Close()
	close(c.out)
}

func without(queue []*serverConn, c *serverConn) []*serverConn {
	var left []*serverConn
	for _, waiter := range queue {
		if waiter != c {
			left = append(left, waiter)
		}
	}
	return left
}

func (s *server) answer(c *serverConn, n int, line string) (goOn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch reply := s.script(c.number, n, line); reply {
	case "":
		s.carryOut(c, line)
	case hangUp:
		return false
	case ignore:
	default:
		c.out <- reply
	}
	return true
}

// keyOf returns the key of an acquire or a release. The keys of a run have no
// spaces.
func keyOf(line string) string { return line[strings.LastIndexByte(line, ' ')+1:] }

func (s *server) carryOut(c *serverConn, line string) {
	key := keyOf(line)
	s.seen[key] = true
	if strings.HasPrefix(line, "A ") {
		s.queues[key] = append(s.queues[key], c)
		s.grant(key)
		return
	}
	if want := fmt.Sprintf("R %d %s", s.holders[key], key); line != want {
		c.out <- "E R not-held " + key
		return
	}
	delete(s.holders, key)
	c.out <- line
	s.grant(key)
}

func (s *server) grant(key string) {
	if _, held := s.holders[key]; held || len(s.queues[key]) == 0 {
		return
	}
	next := s.queues[key][0]
	s.queues[key] = s.queues[key][1:]
	s.granted++
	s.holders[key] = s.granted
	next.out <- fmt.Sprintf("A %d %s", s.granted, key)
}

// keys returns all that were asked for.
func (s *server) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.seen {
		keys = append(keys, key)
	}
	return keys
}

// checkAllReleased also fails if somebody still waits.
func (s *server) checkAllReleased(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.holders) > 0 {
		t.Errorf("still held: %v", s.holders)
	}
	for key, queue := range s.queues {
		if len(queue) > 0 {
			t.Errorf("%d still wait for %s", len(queue), key)
		}
	}
}
