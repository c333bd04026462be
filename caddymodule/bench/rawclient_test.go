package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// rawClient is the least that lets many goroutines share connections: no renewal,
// no reconnecting, no contexts while it waits. What a client library does beyond
// that is what it costs beyond that.
type rawClient struct {
	conns []*rawConn
	next  atomic.Uint64
}

// rawConn is a connection with one goroutine that writes and one that reads.
type rawConn struct {
	net.Conn
	wake  chan struct{} // there is something to write
	ended chan struct{} // closed by the reader

	mu     sync.Mutex
	out    []byte
	tag    uint64 // the last one used
	asking map[uint64]*rawCall
	err    error // why the connection takes no more
}

// rawCall is a request of one goroutine, and the next one after its answer.
type rawCall struct {
	key    []byte
	answer chan rawAnswer
}

type rawAnswer struct {
	kind  wire.Kind
	token uint64
	err   error
}

var rawCalls = sync.Pool{New: func() any { return &rawCall{answer: make(chan rawAnswer, 1)} }}

// dialRaw opens connections that are closed with the benchmark.
func dialRaw(b *testing.B, addr string, connections int) pairer {
	b.Helper()
	c := &rawClient{}
	for i := range connections {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatalf("opening connection %d of %d: %v", i+1, connections, err)
		}
		c.conns = append(c.conns, startRawConn(b, conn))
	}
	return c
}

func startRawConn(tb testing.TB, conn net.Conn) *rawConn {
	c := &rawConn{
		Conn:   conn,
		wake:   make(chan struct{}, 1),
		ended:  make(chan struct{}),
		asking: map[uint64]*rawCall{},
	}
	var running sync.WaitGroup
	running.Go(c.write)
	running.Go(c.read)
	tb.Cleanup(func() {
		c.Close()
		running.Wait()
	})
	return c
}

// pair looks at its context before it starts and not again.
func (c *rawClient) pair(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	conn := c.conns[c.next.Add(1)%uint64(len(c.conns))]
	call := rawCalls.Get().(*rawCall)
	defer rawCalls.Put(call)
	call.key = append(call.key[:0], key...)
	token, err := conn.ask(call, wire.Request{Op: wire.OpAcquire, Lease: lease, Wait: wire.Forever}, wire.KindGranted)
	if err != nil {
		return fmt.Errorf("acquiring %q: %w", key, err)
	}
	released, err := conn.ask(call, wire.Request{Op: wire.OpRelease, Token: token}, wire.KindReleased)
	if err == nil && (token == 0 || released != token) {
		err = fmt.Errorf("token %d was granted, %d was released", token, released)
	}
	if err != nil {
		return fmt.Errorf("releasing %q: %w", key, err)
	}
	return nil
}

// ask sends a request about the call's key, waits for the answer and returns the
// token in it.
func (c *rawConn) ask(call *rawCall, r wire.Request, want wire.Kind) (uint64, error) {
	if err := c.send(call, &r); err != nil {
		return 0, err
	}
	a := <-call.answer
	if a.err == nil && a.kind != want {
		a.err = fmt.Errorf("the answer is of kind %c", a.kind)
	}
	return a.token, a.err
}

func (c *rawConn) send(call *rawCall, r *wire.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.tag++
	r.Tag, r.Key = c.tag, call.key
	c.asking[c.tag] = call
	c.out = wire.AppendRequest(c.out, r)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return nil
}

// write sends what has gathered. It lets others run first: the goroutines that
// the reader has just woken, whose requests then go out in the same write. Without
// that a pair takes three times the processor time.
func (c *rawConn) write() {
	var spare []byte
	for {
		select {
		case <-c.wake:
		case <-c.ended:
			return
		}
		runtime.Gosched()
		c.mu.Lock()
		lines := c.out
		c.out = spare[:0]
		c.mu.Unlock()
		if _, err := c.Write(lines); err != nil {
			c.Close()
			return
		}
		spare = lines
	}
}

// read hands out answers until the connection ends, and then that.
func (c *rawConn) read() {
	defer close(c.ended)
	in := bufio.NewReaderSize(c, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err == nil {
			err = c.take(line[:len(line)-1])
		}
		if err != nil {
			c.fail(fmt.Errorf("reading answers: %w", err))
			return
		}
	}
}

func (c *rawConn) take(line []byte) error {
	var r wire.Reply
	if err := wire.ParseReply(line, &r); err != nil {
		return err
	}
	c.mu.Lock()
	call := c.asking[r.Tag]
	right := call != nil && string(r.Key) == string(call.key)
	if right {
		delete(c.asking, r.Tag)
	}
	c.mu.Unlock()
	if !right {
		return fmt.Errorf("%q answers nothing", line)
	}
	call.answer <- rawAnswer{kind: r.Kind, token: r.Token}
	return nil
}

func (c *rawConn) fail(err error) {
	c.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for _, call := range c.asking {
		call.answer <- rawAnswer{err: err}
	}
	clear(c.asking)
}
