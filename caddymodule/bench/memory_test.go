package bench

import (
	"testing"
	"time"

	"github.com/caddylock/caddylock/caddymodule/load"
)

const (
	memoryLanes = 8
	memorySlots = 500
	// memoryTimeout bounds the loads of BenchmarkMemory, which end by themselves.
	memoryTimeout = 10 * time.Minute
)

// BenchmarkMemory measures what is resident in the server after it has collected
// its garbage, over what was before.
func BenchmarkMemory(b *testing.B) {
	b.Run("held", benchmarkHeld)
	b.Run("keys", benchmarkKeys)
	b.Run("idle-connections", benchmarkIdleConnections)
}

// benchmarkHeld: bytes for each of a million held locks with 16-byte keys, and
// what is left of them after their release.
func benchmarkHeld(b *testing.B) {
	f := figures{}
	for b.Loop() {
		server := startWarm(b)
		empty := server.collect(b)
		l := openLanes(b, server, memoryLanes, memorySlots)
		holds := make([]*hold, len(l.all))
		for i, lane := range l.all {
			holds[i] = newHold(lane, perSlot(*heldKeys))
		}
		acquired := runMemory(b, l, func(lane int) load.Plan { return holds[lane] })
		full := server.collect(b)
		runMemory(b, l, func(lane int) load.Plan { return giveBack{holds[lane]} })
		l.close()
		left := server.collect(b)

		locks := float64(acquired.units)
		f.add("B/lock", float64(full.rss-empty.rss)/locks)
		f.add("heap-B/lock", float64(full.heap-empty.heap)/locks)
		f.add("B/lock-after-release", float64(left.rss-empty.rss)/locks)
		f.add("heap-B/lock-after-release", float64(left.heap-empty.heap)/locks)
		f.add("locks", locks)
		f.add("acquires/s", acquired.rate())
	}
	f.report(b)
}

// benchmarkKeys: what is left of ten million different keys, acquired and
// released one after the other.
func benchmarkKeys(b *testing.B) {
	f := figures{}
	for b.Loop() {
		server := startWarm(b)
		before := server.collect(b)
		l := openLanes(b, server, memoryLanes, memorySlots)
		used := runMemory(b, l, func(lane int) load.Plan { return newChurn(l.all[lane], perSlot(*manyKeys)) })
		l.close()
		after := server.collect(b)

		f.add("growth-B", float64(after.rss-before.rss))
		f.add("growth-heap-B", float64(after.heap-before.heap))
		f.add("keys", float64(used.units))
		f.add("pairs/s", used.rate())
	}
	f.report(b)
}

// benchmarkIdleConnections: bytes for each of a thousand connections that have
// said something once.
func benchmarkIdleConnections(b *testing.B) {
	const connections = 1000
	f := figures{}
	for b.Loop() {
		server := startWarm(b)
		before := server.collect(b)
		for _, t := range dialTalkers(b, server.addr, connections) {
			if err := t.expect("P", "P"); err != nil {
				b.Fatal(err)
			}
		}
		after := server.collect(b)
		f.add("B/connection", float64(after.rss-before.rss)/connections)
		f.add("heap-B/connection", float64(after.heap-before.heap)/connections)
	}
	f.report(b)
}

// startWarm starts a server and uses it a little: what a first request makes
// resident is not the memory of locks.
func startWarm(b *testing.B) *process {
	b.Helper()
	server := startServer(b)
	l := openLanes(b, server, memoryLanes, memorySlots)
	defer l.close()
	if _, err := l.runPairs(100 * time.Millisecond); err != nil {
		b.Fatal(err)
	}
	return server
}

func runMemory(b *testing.B, l *lanes, planOf func(lane int) load.Plan) *sample {
	b.Helper()
	s, err := l.run(memoryTimeout, planOf)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// perSlot shares keys out to the slots of memoryLanes, rounded up.
func perSlot(keys int) int {
	const slots = memoryLanes * memorySlots
	return (keys + slots - 1) / slots
}
