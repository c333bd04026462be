package bench

import (
	"fmt"
	"testing"
)

// BenchmarkEndToEnd compares the lock server with the echo, over connections ×
// requests in flight on each, and with one key that 64 clients want.
func BenchmarkEndToEnd(b *testing.B) {
	server, echo := startServer(b), startEcho(b)
	for _, shape := range []struct{ connections, inFlight int }{
		{1, 1}, {8, 1}, {64, 1}, {8, 64}, {1, 64}, {64, 8},
	} {
		b.Run(fmt.Sprintf("%dx%d", shape.connections, shape.inFlight), func(b *testing.B) {
			benchmarkPairs(b, echo, server, shape.connections, shape.inFlight)
		})
	}
	b.Run("contended64", func(b *testing.B) { benchmarkContended(b, echo, server, 64) })
}

func benchmarkPairs(b *testing.B, echo, server *process, connections, inFlight int) {
	onEcho := openLanes(b, echo, connections, inFlight)
	onServer := openLanes(b, server, connections, inFlight)
	f := figures{}
	for b.Loop() {
		taken := alternate(b, onEcho.runPairs, onServer.runPairs)
		f.addRounds(taken, "pair")
		_, latency := latencies(taken)
		f.micros("p50-µs", latency.Quantile(0.5))
		f.micros("p99-µs", latency.Quantile(0.99))
	}
	f.report(b)
}
