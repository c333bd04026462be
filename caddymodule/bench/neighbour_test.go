package bench

import (
	"context"
	"testing"
)

// BenchmarkNeighbour measures what a client that behaves, on one connection with
// one request in flight, feels of one that does not. Each case has a server of
// its own and takes the latency alone and then beside the disturbance.
//
// The disturbing client runs on the same cores. What it costs the machine, and
// not the server's other clients, shows in the echo's latency, taken in turn with
// the server's: the echo is a process that is not disturbed.
func BenchmarkNeighbour(b *testing.B) {
	for _, d := range []struct {
		name    string
		disturb disturbance
	}{
		{"unread-replies", leaveRepliesUnread},
		{"half-lines", sendHalfLines},
		{"connections", openConnections},
		{"waiters", floodWithWaiters},
	} {
		b.Run(d.name, func(b *testing.B) { benchmarkNeighbour(b, d.disturb) })
	}
}

func benchmarkNeighbour(b *testing.B, disturb disturbance) {
	f := figures{}
	for b.Loop() {
		server, echo := startServer(b), startEcho(b)
		onServer, onEcho := openLanes(b, server, 1, 1), openLanes(b, echo, 1, 1)
		f.addLatencies("-alone-µs", alternate(b, onEcho.runPairs, onServer.runPairs))
		stop := startDisturbance(b, server.addr, disturb)
		f.addLatencies("-µs", alternate(b, onEcho.runPairs, onServer.runPairs))
		for unit, count := range stop() {
			f.add(unit, float64(count))
		}
	}
	f.report(b)
}

func (f figures) addLatencies(suffix string, taken []round) {
	echo, server := latencies(taken)
	f.micros("p50"+suffix, server.Quantile(0.5))
	f.micros("p99"+suffix, server.Quantile(0.99))
	f.micros("echo-p99"+suffix, echo.Quantile(0.99))
}

// startDisturbance disturbs a server until the function returned is called,
// which says how much was done.
func startDisturbance(b *testing.B, addr string, disturb disturbance) (stop func() tally) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	var counts tally
	var err error
	go func() {
		defer close(done)
		counts, err = disturb(ctx, addr)
	}()
	return func() tally {
		b.Helper()
		cancel()
		<-done
		if err != nil {
			b.Fatalf("disturbing: %v", err)
		}
		return counts
	}
}
