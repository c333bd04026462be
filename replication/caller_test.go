package replication

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"time"
)

// caller is a client of a test, at the other end of a connection in memory. It
// never blocks the test: one goroutine sends, one collects what comes.
type caller struct {
	sock    halfCloser
	running sync.WaitGroup
	// outgoing belongs to the test; it is nil after the caller has hung up.
	outgoing chan<- string

	mu sync.Mutex
	// resumed is signalled when paused is unset.
	resumed *sync.Cond
	paused  bool
	lines   []string
	rest    []byte
	ended   bool
}

// maxUnsent is how much a caller may have sent that the server has not read.
const maxUnsent = 1 << 10

// dial connects a caller to the node.
func (h *host) dial() *caller {
	client, server := newPipe()
	h.serve(server)
	return h.call(client)
}

// call makes a caller out of a connection.
func (h *host) call(sock halfCloser) *caller {
	outgoing := make(chan string, maxUnsent)
	c := &caller{sock: sock, outgoing: outgoing}
	c.resumed = sync.NewCond(&c.mu)
	c.running.Go(func() { c.sender(outgoing) })
	c.running.Go(c.collector)
	h.tb.Cleanup(c.hangUp)
	return c
}

func (c *caller) sender(outgoing <-chan string) {
	for text := range outgoing {
		if text == "" {
			_ = c.sock.CloseWrite()
		} else if _, err := c.sock.Write([]byte(text)); err != nil {
			break
		}
	}
	for range outgoing {
		continue
	}
}

func (c *caller) collector() {
	buf := make([]byte, 1<<12)
	for {
		n, err := c.sock.Read(buf)
		c.collect(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.waitResumed()
		} else if err != nil {
			c.end()
			return
		}
	}
}

func (c *caller) collect(got []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = append(c.rest, got...)
	for {
		line, rest, whole := bytes.Cut(c.rest, []byte("\n"))
		if !whole {
			return
		}
		c.lines = append(c.lines, string(line))
		c.rest = rest
	}
}

// end answers the end of the connection with the same.
func (c *caller) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	_ = c.sock.Close()
}

func (c *caller) waitResumed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.paused {
		c.resumed.Wait()
	}
}

// send sends text in one piece, some time soon.
func (c *caller) send(text string) {
	if c.outgoing != nil {
		c.outgoing <- text
	}
}

// closeWrite says that nothing more will be sent.
func (c *caller) closeWrite() { c.send("") }

// stopReading leaves everything unread that comes from now on.
func (c *caller) stopReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = true
	_ = c.sock.SetReadDeadline(time.Unix(1, 0))
}

func (c *caller) readOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = false
	_ = c.sock.SetReadDeadline(time.Time{})
	c.resumed.Broadcast()
}

// hangUp closes the connection; more than once does nothing.
func (c *caller) hangUp() {
	_ = c.sock.Close()
	c.readOn()
	if c.outgoing != nil {
		close(c.outgoing)
		c.outgoing = nil
	}
	c.running.Wait()
}

// next takes the oldest line that came and was not taken yet.
func (c *caller) next() (line string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lines) == 0 {
		return "", false
	}
	line = c.lines[0]
	c.lines = c.lines[1:]
	return line, true
}

// take takes all lines that came and were not taken yet.
func (c *caller) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = nil
	return lines
}

// isCut reports whether the server has closed the connection.
func (c *caller) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}
