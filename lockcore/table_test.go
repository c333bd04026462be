package lockcore

import (
	"slices"
	"testing"
	"time"
)

// manyKeys is far above every size below which memory is not given back.
const manyKeys = 16 * minShrinking

func TestATableGivesItsMemoryBackAfterAPeak(t *testing.T) {
	t.Parallel()
	table, quota := newRoomy()
	l := dial("ann", "ann")
	for i := range manyKeys {
		table.Acquire(0, &Acquire{Conn: l, Owner: l.owner, Lease: time.Duration(i + 1), Key: numbered(i)})
	}
	if len(table.locks.locks) < manyKeys {
		t.Fatalf("%d slots for %d keys", len(table.locks.locks), manyKeys)
	}
	for i := range manyKeys {
		table.Tick(Instant(i + 1))
	}
	check(t, table)
	if table.locks.count != idleSlots || len(table.locks.locks) > 4*idleSlots {
		t.Errorf("an index of %d keys has %d slots", table.locks.count, len(table.locks.locks))
	}
	if quota.used != 0 || cap(table.leases.heap) > 2*minHeap {
		t.Errorf("%d keys counted, room for %d leases", quota.used, cap(table.leases.heap))
	}
}

func TestATableForgetsWhoWaited(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	holder := dial("ann", "ann")
	table.Acquire(0, holder.acquire("k", 1, time.Hour, 0))
	for i := range manyKeys {
		w := dial("bob", "bob")
		table.Acquire(0, w.acquire("k", uint64(i+1), time.Hour, time.Duration(i+1)))
	}
	for i := range manyKeys {
		table.Tick(Instant(i + 1))
	}
	check(t, table)
	if table.acquires.most > minShrinking || table.asks.most > minShrinking {
		t.Errorf("nobody waits, and there is room for %d acquires on %d connections",
			table.acquires.most, table.asks.most)
	}
}

func TestManyEffectsAtOnceAreNotKeptRoomFor(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	l := dial("ann", "ann")
	for i := range manyKeys {
		table.Acquire(0, &Acquire{Conn: l, Owner: l.owner, Lease: 1, Key: numbered(i)})
	}
	if got := len(table.Tick(1)); got != manyKeys {
		t.Fatalf("%d leases ended, want %d", got, manyKeys)
	}
	table.Tick(2)
	if room := cap(table.effects); room > maxKeptEffects {
		t.Errorf("room for %d effects is kept", room)
	}
}

func TestEverybodyAwayComesBackToTheirPlaces(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	ann := dial("ann", "ann")
	token := table.Acquire(0, ann.acquire("k", 1, Forever, 0))[0].Token
	const many = 50
	lines := make([]*line, many)
	for i := range lines {
		lines[i] = dial("bob", "bob")
		table.Acquire(0, lines[i].acquire("k", uint64(i+1), 10, Forever))
		table.Disconnect(0, lines[i])
	}
	back := make([]int, many)
	for i := range back {
		back[i] = i * 7 % many
	}
	for _, i := range back {
		expect(t, table.Acquire(1, lines[i].acquire("k", uint64(i+1), 10, Forever)), Queued)
		check(t, table)
	}
	for i := range many {
		effects := table.Release(1, ann.release("k", token))
		expect(t, effects, Released, Granted)
		if effects[1].Acquire != uint64(i+1) {
			t.Fatalf("waiter %d has its turn at %d", effects[1].Acquire, i+1)
		}
		token = effects[1].Token
	}
}

func TestAConnectionIsToldOnceForEachOfItsAcquires(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	ann, bob := dial("ann", "ann"), dial("bob", "bob")
	table.Acquire(0, ann.acquire("k", 1, 10, 0))
	for tag := range uint64(5) {
		table.Acquire(0, bob.acquire("k", tag+1, 10, time.Duration(tag+1)))
	}
	if !table.Waits(bob) || table.Waits(ann) {
		t.Error("it is the other one who waits for an answer")
	}
	var told []uint64
	for _, e := range table.Tick(9) {
		told = append(told, e.Tag)
	}
	if !slices.Equal(told, []uint64{1, 2, 3, 4, 5}) || table.Waits(bob) {
		t.Errorf("told of %v", told)
	}
	check(t, table)
}

func TestATableDoesNotHoldOnToTheKeyOfACommand(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	ann := dial("ann", "ann")
	a := ann.acquire("k", 1, 10, 0)
	token := table.Acquire(0, a)[0].Token
	a.Key[0] = 'x'
	expect(t, table.Release(0, ann.release("k", token)), Released)
	check(t, table)
}

func TestTheGrantOfAHeldKeyIsAPanic(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	ann := dial("ann", "ann")
	table.Acquire(0, ann.acquire("k", 1, 10, 0))
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	table.hold(0, table.locks.find([]byte("k")), ann.owner, 2, 10)
}

func TestADisconnectDealsWithManyAcquiresInParts(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	holder, waiter := dial("ann", "ann"), dial("bob", "bob")
	table.Acquire(0, holder.acquire("k", 1, time.Hour, 0))
	const many = 3*maxDisconnected + 1
	for i := range many {
		table.Acquire(0, waiter.acquire("k", uint64(i+1), time.Hour, time.Minute))
	}
	calls := 0
	for ; table.Waits(waiter); calls++ {
		table.Disconnect(1, waiter)
		check(t, table)
	}
	if calls != 4 || table.locks.find([]byte("k")).queue.absent != many {
		t.Errorf("after %d calls %d are away", calls, table.locks.find([]byte("k")).queue.absent)
	}
}
