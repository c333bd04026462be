package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// A disturbance misuses a server until its context ends, at a pace of one step a
// millisecond: at full speed it would measure how two processes share a core.
type disturbance func(ctx context.Context, addr string) (tally, error)

// tally counts what a disturbance did, by unit.
type tally map[string]int

const (
	// mostConnections of a disturbance, if the descriptors suffice.
	mostConnections = 10_000
	// mostStuck and mostHalfLines are so many connections at most.
	mostStuck     = 200
	mostHalfLines = 1000
	// spareDescriptors are those this process and the server need besides.
	spareDescriptors = 500
)

// everyStep calls step until the context ends or a step fails.
func everyStep(ctx context.Context, step func() error) error {
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		if err := step(); err != nil {
			return err
		}
	}
}

// leaveRepliesUnread asks for 16 kB of replies in each step and reads none. When
// the server takes no more from it, it leaves that connection stuck and goes on
// with another one, as long as it may.
func leaveRepliesUnread(ctx context.Context, addr string) (tally, error) {
	requests := bytes.Repeat([]byte("Q "+strings.Repeat("k", 1000)+"\n"), 16)
	var stuck crowd
	defer stuck.close()
	for ctx.Err() == nil && len(stuck) < mostStuck {
		conn, err := stuck.dial(addr)
		if err != nil {
			return nil, err
		}
		if err := fillUp(ctx, conn, requests); err != nil {
			return nil, err
		}
	}
	<-ctx.Done()
	return tally{"stuck-connections": len(stuck)}, nil
}

// fillUp sends lines in each step, reading nothing, until the server takes no
// more for some steps.
func fillUp(ctx context.Context, conn net.Conn, lines []byte) error {
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		return err
	}
	err := everyStep(ctx, func() error {
		_ = conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := conn.Write(lines)
		return err
	})
	if ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return fmt.Errorf("sending without reading: %w", err)
}

// sendHalfLines opens a connection in each step, up to mostHalfLines, and sends
// half a line on it.
func sendHalfLines(ctx context.Context, addr string) (tally, error) {
	var open crowd
	defer open.close()
	err := everyStep(ctx, func() error {
		if len(open) >= mostHalfLines {
			return nil
		}
		conn, err := open.dial(addr)
		if err != nil {
			return err
		}
		_, err = io.WriteString(conn, "A 30 0 half-a-l")
		return err
	})
	return tally{"connections": len(open)}, err
}

// openConnections opens up to ten thousand connections, a few in each step, and
// says nothing on them.
func openConnections(ctx context.Context, addr string) (tally, error) {
	most := min(mostConnections, descriptorLimit()-spareDescriptors)
	var open crowd
	defer open.close()
	err := everyStep(ctx, func() error {
		for range min(4, most-len(open)) {
			if _, err := open.dial(addr); err != nil {
				return err
			}
		}
		return nil
	})
	return tally{"connections": len(open)}, err
}

// floodWithWaiters sends acquires of one held key in each step. Past
// max_waiters_per_key they are refused.
func floodWithWaiters(ctx context.Context, addr string) (tally, error) {
	t, err := dialTalker(addr)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := t.expect("A 3600 0 flooded", "A "); err != nil {
		return nil, err
	}
	_ = t.SetDeadline(time.Time{})
	refused := make(chan int)
	go func() { refused <- countRefusals(t.Conn) }()
	sent, err := sendRepeatedly(ctx, t, bytes.Repeat([]byte("A 3600 0 flooded\n"), floodStep))
	t.Close()
	return tally{"acquires": sent * floodStep, "refused": <-refused}, err
}

// floodStep is how many acquires a flood sends in a step.
const floodStep = 100

// sendRepeatedly sends lines in each step and returns how often it did. It closes
// the connection when the context ends.
func sendRepeatedly(ctx context.Context, conn net.Conn, lines []byte) (sent int, err error) {
	unblock := context.AfterFunc(ctx, func() { conn.Close() })
	defer unblock()
	err = everyStep(ctx, func() error {
		_, err := conn.Write(lines)
		sent++
		return err
	})
	if ctx.Err() != nil {
		return sent, nil
	}
	return sent, err
}

// countRefusals reads until the connection is closed.
func countRefusals(conn net.Conn) int {
	n := 0
	for replies := bufio.NewScanner(conn); replies.Scan(); {
		if bytes.HasPrefix(replies.Bytes(), []byte("E A too-many-waiters ")) {
			n++
		}
	}
	return n
}

// crowd is a number of open connections.
type crowd []net.Conn

func (c *crowd) dial(addr string) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("opening connection %d: %w", len(*c)+1, err)
	}
	*c = append(*c, conn)
	return conn, nil
}

func (c *crowd) close() {
	for _, conn := range *c {
		conn.Close()
	}
}
