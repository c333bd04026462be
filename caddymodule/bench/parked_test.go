package bench

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	parkedConnections = 100
	parkedKeys        = 100
	// pingInterval is how often a client with waiters pings.
	pingInterval = 5 * time.Second
)

// BenchmarkParked measures the processor time that ten thousand waiters take,
// one for each of 100 keys on each of 100 connections, which ping every five
// seconds; and before that what the pings alone take.
func BenchmarkParked(b *testing.B) {
	f := figures{}
	for b.Loop() {
		server := startServer(b)
		clients := dialTalkers(b, server.addr, parkedConnections)
		f.add("pings-cpu-ms/s", cpuShare(b, server, func() { pingFor(b, clients, *window) }))
		park(b, dialTalkers(b, server.addr, 1)[0], clients)
		f.add("cpu-ms/s", cpuShare(b, server, func() { pingFor(b, clients, *window) }))
		f.add("waiters", parkedConnections*parkedKeys)
	}
	f.report(b)
}

// park holds the keys on one connection and waits for all of them on the others.
func park(b *testing.B, holder *talker, clients []*talker) {
	b.Helper()
	var acquires bytes.Buffer
	for i := range parkedKeys {
		line := fmt.Sprintf("A 3600 3600 parked/%03d", i)
		if err := holder.expect(line, "A "); err != nil {
			b.Fatal(err)
		}
		acquires.WriteString(line + "\n")
	}
	for _, t := range clients {
		if _, err := t.Write(acquires.Bytes()); err != nil {
			b.Fatal(err)
		}
		pingOne(b, t)
	}
	checkParked(b, holder)
}

// checkParked asks whether everybody waits for every key.
func checkParked(b *testing.B, t *talker) {
	b.Helper()
	for i := range parkedKeys {
		key := fmt.Sprintf("parked/%03d", i)
		reply, err := t.ask("Q " + key)
		if err != nil {
			b.Fatal(err)
		}
		if !strings.HasSuffix(reply, fmt.Sprintf(" %d %s", parkedConnections, key)) {
			b.Fatalf("%d connections wait for %s, but the server says %q", parkedConnections, key, reply)
		}
	}
}

// pingFor pings on one connection after the other, each in its interval.
func pingFor(b *testing.B, clients []*talker, d time.Duration) {
	b.Helper()
	turns := time.NewTicker(pingInterval / time.Duration(len(clients)))
	defer turns.Stop()
	end := time.Now().Add(d)
	for i := 0; time.Now().Before(end); i++ {
		<-turns.C
		pingOne(b, clients[i%len(clients)])
	}
}

func pingOne(b *testing.B, t *talker) {
	b.Helper()
	if err := t.expect("P", "P"); err != nil {
		b.Fatal(err)
	}
}

// cpuShare returns milliseconds of the server's processor time a second.
func cpuShare(b *testing.B, server *process, wait func()) float64 {
	b.Helper()
	before, err := server.usage()
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	wait()
	elapsed := time.Since(start)
	after, err := server.usage()
	if err != nil {
		b.Fatal(err)
	}
	return (after.cpu - before.cpu).Seconds() * 1e3 / elapsed.Seconds()
}
