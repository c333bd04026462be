package lockcore

import (
	"hash/maphash"
	"runtime"
	"testing"
	"time"
)

// million is how many locks the targets of the design are stated for.
const million = 1_000_000

func BenchmarkAcquireAndReleaseOfAKnownKey(b *testing.B) {
	table, _ := newRoomy()
	l := dial("ann", "ann")
	acquire, release := l.acquire("key/000000000000", 1, time.Hour, 0), l.release("key/000000000000", 0)
	b.ReportAllocs()
	for b.Loop() {
		release.Token = table.Acquire(0, acquire)[0].Token
		table.Release(0, release)
	}
}

func BenchmarkAcquireAndReleaseOfANewKey(b *testing.B) {
	table, _ := newRoomy()
	l := dial("ann", "ann")
	acquire, release := l.acquire("", 1, time.Hour, 0), l.release("", 0)
	key := numbered(0)
	acquire.Key, release.Key = key, key
	b.ReportAllocs()
	for b.Loop() {
		increase(key)
		release.Token = table.Acquire(0, acquire)[0].Token
		table.Release(0, release)
	}
}

// increase makes the next of numbered keys out of one.
func increase(key []byte) {
	for at := len(key) - 1; ; at-- {
		if key[at] < '9' {
			key[at]++
			return
		}
		key[at] = '0'
	}
}

// BenchmarkHandover releases a key with 64 in line; the one that had it goes to
// the end.
func BenchmarkHandover(b *testing.B) {
	table, _ := newRoomy()
	const waiters = 64
	requests := make([]*Acquire, waiters+1)
	for i := range requests {
		requests[i] = dial(string(rune('A'+i)), "").acquire("k", 1, time.Hour, Forever)
		table.Acquire(0, requests[i])
	}
	release := &Release{Conn: requests[0].Conn, Token: 1, Key: []byte("k")}
	turn := 0
	b.ReportAllocs()
	for b.Loop() {
		effects := table.Release(0, release)
		release.Token = effects[1].Token
		table.Acquire(0, requests[turn])
		turn = (turn + 1) % len(requests)
	}
}

func BenchmarkQuery(b *testing.B) {
	table := filled(1, million, time.Hour)[0]
	query := &Query{Conn: dial("ann", "ann"), Key: numbered(million / 2)}
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		table.Query(0, query)
	}
}

func BenchmarkKeep(b *testing.B) {
	table := filled(1, million, time.Hour)[0]
	query := &Query{Key: numbered(million / 2)}
	keep := &Keep{Conn: dial("ann", "ann"), Key: query.Key, Token: table.Query(0, query)[0].Token, Lease: time.Hour}
	now := Instant(0)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		now++
		table.Keep(now, keep)
	}
}

// BenchmarkExpiry lets a million leases run out, in steps as a timer notices
// them.
func BenchmarkExpiry(b *testing.B) {
	const steps = 1000
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		table := filled(1, million, million)[0]
		b.StartTimer()
		start := time.Now()
		for i := range steps {
			table.Tick(Instant(million + (i+1)*million/steps))
		}
		spent += time.Since(start)
		if table.Due() != Never {
			b.Fatal("not all leases ran out")
		}
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/million, "ns/lease")
}

// BenchmarkExpiryAtOnce lets a million leases run out in one instant.
func BenchmarkExpiryAtOnce(b *testing.B) {
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		table := filled(1, million, million)[0]
		b.StartTimer()
		start := time.Now()
		table.Tick(2 * million)
		spent += time.Since(start)
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/million, "ns/lease")
}

// filled makes tables that hold keys between them, sharded as a server does;
// key i was granted at i.
func filled(tables, keys int, lease time.Duration) []*Table {
	quota := &bound{max: keys}
	tokens := &counter{}
	shards := make([]*Table, tables)
	for i := range shards {
		shards[i] = NewTable(tokens, quota, roomy)
	}
	seed := maphash.MakeSeed()
	l := dial("ann", "ann")
	a := l.acquire("", 0, lease, 0)
	a.Key = numbered(0)
	for i := range keys {
		shard := shards[maphash.Bytes(seed, a.Key)%uint64(tables)]
		shard.Acquire(Instant(i), a)
		increase(a.Key)
	}
	return shards
}

// BenchmarkHeldMemory reports what a held lock with a 16-byte key costs.
func BenchmarkHeldMemory(b *testing.B) {
	const tables = 64
	var perLock float64
	for b.Loop() {
		before := heapInUse()
		shards := filled(tables, million, time.Hour)
		perLock = float64(heapInUse()-before) / million
		runtime.KeepAlive(shards)
	}
	b.ReportMetric(perLock, "B/lock")
}

// BenchmarkWaitingMemory reports what a waiter costs, in queues of ten.
func BenchmarkWaitingMemory(b *testing.B) {
	const waiters = million / 4
	var perWaiter float64
	for b.Loop() {
		table := filled(1, waiters/10, time.Hour)[0]
		before := heapInUse()
		l := dial("bob", "bob")
		a := l.acquire("", 0, time.Hour, time.Hour)
		for i := range waiters {
			a.Key, a.Tag = numbered(i/10), uint64(i+1)
			table.Acquire(Instant(waiters), a)
		}
		perWaiter = float64(heapInUse()-before) / waiters
		runtime.KeepAlive(table)
	}
	b.ReportMetric(perWaiter, "B/waiter")
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
