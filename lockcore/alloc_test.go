package lockcore

import (
	"testing"
	"time"
)

// steady makes a table of two connections of which the first holds k.
func steady() (t *Table, a, b *line, token uint64) {
	t, _ = newRoomy()
	a, b = dial("ann", "ann"), dial("bob", "bob")
	return t, a, b, t.Acquire(0, a.acquire("k", 1, time.Hour, 0))[0].Token
}

// noAllocs measures; it must not run in parallel with anything.
func noAllocs(t *testing.T, f func()) {
	t.Helper()
	if allocs := testing.AllocsPerRun(5000, f); allocs != 0 {
		t.Errorf("%v allocations each time", allocs)
	}
}

func TestAcquireAndReleaseOfAKnownKeyDoNotAllocate(t *testing.T) {
	table, a, _, _ := steady()
	acquire, release := a.acquire("known", 2, time.Hour, 0), a.release("known", 0)
	noAllocs(t, func() {
		release.Token = table.Acquire(0, acquire)[0].Token
		expect(t, table.Release(0, release), Released)
	})
}

func TestAcquireAndReleaseOfManyKnownKeysDoNotAllocate(t *testing.T) {
	table, a, _, _ := steady()
	var acquires [idleSlots / 2]*Acquire
	for i := range acquires {
		acquires[i] = a.acquire(string(numbered(i)), 2, time.Hour, 0)
	}
	release := a.release("", 0)
	next := 0
	noAllocs(t, func() {
		acquire := acquires[next%len(acquires)]
		next++
		release.Key, release.Token = acquire.Key, table.Acquire(0, acquire)[0].Token
		expect(t, table.Release(0, release), Released)
	})
}

func TestAHandoverDoesNotAllocate(t *testing.T) {
	table, a, b, token := steady()
	requests := [2]*Acquire{a.acquire("k", 1, time.Hour, time.Minute), b.acquire("k", 1, time.Hour, time.Minute)}
	release := a.release("k", token)
	turn := 0
	noAllocs(t, func() {
		turn = 1 - turn
		expect(t, table.Acquire(0, requests[turn]), Queued)
		effects := table.Release(0, release)
		expect(t, effects, Released, Granted)
		release.Token = effects[1].Token
	})
}

func TestAHandoverByExpiryDoesNotAllocate(t *testing.T) {
	table, a, b, _ := steady()
	requests := [2]*Acquire{a.acquire("k", 1, time.Hour, Forever), b.acquire("k", 1, time.Hour, Forever)}
	turn, now := 0, Instant(0)
	noAllocs(t, func() {
		turn = 1 - turn
		expect(t, table.Acquire(now, requests[turn]), Queued)
		now = table.Due()
		expect(t, table.Tick(now), Expired, Granted)
	})
}

func TestAKeepDoesNotAllocate(t *testing.T) {
	table, a, _, token := steady()
	keep := &Keep{Conn: a, Token: token, Lease: time.Minute, Key: []byte("k")}
	noAllocs(t, func() { expect(t, table.Keep(0, keep), Kept) })
}

func TestAQueryDoesNotAllocate(t *testing.T) {
	table, a, _, _ := steady()
	held, free := &Query{Conn: a, Key: []byte("k")}, &Query{Conn: a, Key: []byte("free")}
	noAllocs(t, func() {
		expect(t, table.Query(0, held), Queried)
		expect(t, table.Query(0, free), Queried)
	})
}

func TestADisconnectAndAReturnDoNotAllocate(t *testing.T) {
	table, _, b, _ := steady()
	again := b.acquire("k", 1, time.Hour, time.Minute)
	noAllocs(t, func() {
		expect(t, table.Acquire(0, again), Queued)
		table.Disconnect(0, b)
	})
}
