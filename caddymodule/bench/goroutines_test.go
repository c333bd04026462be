package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// pairer is a client that many goroutines share.
type pairer interface {
	// pair acquires a key and releases it.
	pair(ctx context.Context, key string) error
}

// contender is a client that is compared with others. It is closed with the
// benchmark.
type contender struct {
	name string
	open func(b *testing.B, addr string, connections int) pairer
}

// contenders run in turn; the others are compared with the first.
var contenders = []contender{{"raw", dialRaw}, {"library", openLibrary}}

// BenchmarkGoroutines measures what many goroutines, each with a key of its own,
// cost the process they run in, by the client that they share. Its processor time
// is that of the whole process, the loop of the goroutines included.
func BenchmarkGoroutines(b *testing.B) {
	server := startServer(b)
	for _, shape := range []struct{ goroutines, connections int }{{1000, 2}, {512, 8}} {
		b.Run(fmt.Sprintf("%d-over-%d", shape.goroutines, shape.connections), func(b *testing.B) {
			benchmarkGoroutines(b, server, shape.goroutines, shape.connections)
		})
	}
}

func benchmarkGoroutines(b *testing.B, server *process, goroutines, connections int) {
	clients := make([]pairer, len(contenders))
	for i, c := range contenders {
		clients[i] = c.open(b, server.addr, connections)
	}
	keys := make([]string, goroutines)
	for i := range keys {
		keys[i] = fmt.Sprintf("caller/%09d", i)
	}
	f := figures{}
	for b.Loop() {
		callInTurn(b, server, clients, keys, *sliceLength/5)
		for range *rounds {
			f.addCalls(callInTurn(b, server, clients, keys, *sliceLength))
		}
	}
	f.report(b)
}

// calls is what was measured of one client in one go.
type calls struct {
	pairs     int
	elapsed   time.Duration
	clientCPU time.Duration
	serverCPU time.Duration
}

func (c *calls) rate() float64 { return float64(c.pairs) / c.elapsed.Seconds() }

// clientEach and serverEach return microseconds of processor time.
func (c *calls) clientEach() float64 { return c.clientCPU.Seconds() * 1e6 / float64(c.pairs) }
func (c *calls) serverEach() float64 { return c.serverCPU.Seconds() * 1e6 / float64(c.pairs) }

// callInTurn gives each client a slice, one right after the other.
func callInTurn(b *testing.B, server *process, clients []pairer, keys []string, d time.Duration) []*calls {
	b.Helper()
	taken := make([]*calls, len(clients))
	for i, client := range clients {
		var err error
		if taken[i], err = measureCalls(server, client, keys, d); err != nil {
			b.Fatalf("%s client: %v", contenders[i].name, err)
		}
	}
	return taken
}

// addCalls adds a round of all contenders.
func (f figures) addCalls(taken []*calls) {
	for i, c := range taken {
		name := contenders[i].name
		f.add(name+"-pairs/s", c.rate())
		f.add(name+"-client-µs/pair", c.clientEach())
		f.add(name+"-server-µs/pair", c.serverEach())
		if i > 0 {
			f.add(name+"-cpu-ratio", c.clientEach()/taken[0].clientEach())
		}
	}
}

func measureCalls(server *process, client pairer, keys []string, d time.Duration) (*calls, error) {
	serverBefore, err := server.usage()
	if err != nil {
		return nil, err
	}
	clientBefore, err := cpuTime()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	pairs, err := callFor(client, keys, d)
	if err != nil {
		return nil, err
	}
	c := &calls{pairs: pairs, elapsed: time.Since(start)}
	clientAfter, err := cpuTime()
	if err != nil {
		return nil, err
	}
	serverAfter, err := server.usage()
	if err != nil {
		return nil, err
	}
	c.clientCPU, c.serverCPU = clientAfter-clientBefore, serverAfter.cpu-serverBefore.cpu
	return c, nil
}

// callFor runs a goroutine for each key and returns how many pairs they made.
func callFor(client pairer, keys []string, d time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d+drainTimeout)
	defer cancel()
	stop := make(chan struct{})
	timer := time.AfterFunc(d, func() { close(stop) })
	defer timer.Stop()
	counts, errs := make([]int, len(keys)), make([]error, len(keys))
	var running sync.WaitGroup
	for i, key := range keys {
		running.Go(func() { counts[i], errs[i] = callUntil(ctx, stop, client, key) })
	}
	running.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum, errors.Join(errs...)
}

// callUntil makes pairs, at least one.
func callUntil(ctx context.Context, stop <-chan struct{}, client pairer, key string) (int, error) {
	for n := 0; ; {
		if err := client.pair(ctx, key); err != nil {
			return n, err
		}
		n++
		select {
		case <-stop:
			return n, nil
		default:
		}
	}
}
