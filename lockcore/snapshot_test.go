package lockcore

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// busy makes a table with a bit of everything in it, at 10.
func busy(t *testing.T) *Table {
	t.Helper()
	table, _ := newRoomy()
	ann, bob, cat := dial("ann", "ann"), dial("bob", "bob"), dial("cat", "cat")
	table.Acquire(0, ann.acquire("held", 1, Forever, 0))
	table.Acquire(1, ann.acquire("queued", 2, 100, 0))
	table.Acquire(2, bob.acquire("queued", 1, 50, Forever))
	table.Acquire(3, cat.acquire("queued", 1, 50, 40))
	table.Acquire(4, dial("", "nobody").acquire("queued", 1, 50, Forever))
	table.Acquire(5, bob.acquire("free", 2, 100, 0))
	table.Acquire(6, cat.acquire("free", 2, 50, Forever))
	table.Disconnect(7, cat)
	table.Cancel(8, bob.cancel("free", 2))
	table.Acquire(9, ann.acquire("due", 3, 1, 0))
	check(t, table)
	return table
}

func TestARestoredTableHasTheSameSnapshot(t *testing.T) {
	t.Parallel()
	const now, then = 10, 1000
	held, waiting := sortedSnapshot(busy(t), now)
	restored, quota := newRoomy()
	if err := restore(restored, then, held, waiting); err != nil {
		t.Fatal(err)
	}
	check(t, restored)
	gotHeld, gotWaiting := sortedSnapshot(restored, then)
	survivors := slices.DeleteFunc(waiting, func(w Waiting) bool { return !w.Survives() })
	for i := range survivors {
		survivors[i].Away = true
	}
	if len(held) != 3 || len(survivors) != 3 || quota.used != 4 {
		t.Errorf("%d held, %d waiting, %d keys counted", len(held), len(survivors), quota.used)
	}
	if !slices.EqualFunc(gotHeld, held, sameHeld) || !slices.EqualFunc(gotWaiting, survivors, sameWaiting) {
		t.Errorf("got %+v %+v\nwant %+v %+v", gotHeld, gotWaiting, held, survivors)
	}
}

func TestASnapshotLetsNothingFire(t *testing.T) {
	t.Parallel()
	table := busy(t)
	held, waiting := sortedSnapshot(table, 10)
	again, _ := sortedSnapshot(table, 10)
	if !slices.EqualFunc(held, again, sameHeld) {
		t.Error("a second snapshot differs")
	}
	due := slices.IndexFunc(held, func(h Held) bool { return string(h.Key) == "due" })
	if due < 0 || held[due].Left != 0 {
		t.Fatalf("what is due is not in the snapshot as due: %+v", held)
	}
	restored, _ := newRoomy()
	if err := restore(restored, 50, held, waiting); err != nil {
		t.Fatal(err)
	}
	expect(t, restored.Tick(50), Expired)
	check(t, restored)
}

func TestASnapshotListsTheQueueInTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	table.Acquire(0, dial("ann", "ann").acquire("k", 1, Forever, 0))
	lines := make([]*line, 9)
	for i := range lines {
		lines[i] = dial(string(rune('b'+i)), "")
		table.Acquire(Instant(i), lines[i].acquire("k", uint64(i+1), 10, Forever))
	}
	for _, i := range []int{7, 0, 3, 4, 8} {
		table.Disconnect(10, lines[i])
	}
	_, waiting := sortedSnapshot(table, 10)
	for i, w := range waiting {
		if w.Tag != uint64(i+1) {
			t.Errorf("waiter %d is listed at %d", w.Tag, i+1)
		}
	}
}

func TestAKeyIsRestoredOnce(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	ann := &Owner{Client: "ann"}
	held := &Held{Key: []byte("k"), Token: 5, Owner: ann, Tag: 1, Lease: 10, Left: 5}
	waiting := &Waiting{Key: []byte("k"), Owner: ann, Tag: 2, Lease: 10, Left: Forever}
	steps := []struct {
		name string
		got  error
		want error
	}{
		{"waits", table.RestoreWaiting(0, waiting), nil},
		{"waits twice", table.RestoreWaiting(0, waiting), ErrWaitsTwice},
		{"held", table.RestoreHeld(0, held), nil},
		{"held twice", table.RestoreHeld(0, held), ErrHeldTwice},
	}
	for _, s := range steps {
		if !errors.Is(s.got, s.want) {
			t.Errorf("%s: got %v, want %v", s.name, s.got, s.want)
		}
	}
	check(t, table)
}

func TestValuesOutOfRangeAreNotRestored(t *testing.T) {
	t.Parallel()
	ann := &Owner{Client: "ann"}
	table, quota := newRoomy()
	for name, broken := range map[string]func(*Held){
		"no token":       func(h *Held) { h.Token = 0 },
		"no owner":       func(h *Held) { h.Owner = nil },
		"no lease":       func(h *Held) { h.Lease = 0 },
		"negative left":  func(h *Held) { h.Left = -1 },
		"negative age":   func(h *Held) { h.Age = -1 },
		"negative lease": func(h *Held) { h.Lease = -1 },
	} {
		h := &Held{Key: []byte("k"), Token: 5, Owner: ann, Tag: 1, Lease: 10, Left: 5}
		broken(h)
		if err := table.RestoreHeld(0, h); !errors.Is(err, ErrBadSnapshot) {
			t.Errorf("held with %s: %v", name, err)
		}
	}
	for name, broken := range map[string]func(*Waiting){
		"no owner":      func(w *Waiting) { w.Owner = nil },
		"no client":     func(w *Waiting) { w.Owner = &Owner{} },
		"no tag":        func(w *Waiting) { w.Tag = 0 },
		"no lease":      func(w *Waiting) { w.Lease = 0 },
		"negative left": func(w *Waiting) { w.Left = -1 },
		"negative age":  func(w *Waiting) { w.Age = -1 },
	} {
		w := &Waiting{Key: []byte("k"), Owner: ann, Tag: 1, Lease: 10, Left: 5}
		broken(w)
		if err := table.RestoreWaiting(0, w); !errors.Is(err, ErrBadSnapshot) {
			t.Errorf("waiting with %s: %v", name, err)
		}
	}
	check(t, table)
	if table.locks.count != 0 || quota.used != 0 {
		t.Error("something was kept of what was refused")
	}
}

func TestIdleKeysAreRestoredToo(t *testing.T) {
	t.Parallel()
	table, quota := newRoomy()
	l := dial("ann", "ann")
	use(t, table, l, []byte("held"))
	use(t, table, l, []byte("waited for"))
	held := &Held{Key: []byte("held"), Token: 5, Owner: l.owner, Lease: 10, Left: 5}
	waiting := &Waiting{Key: []byte("waited for"), Owner: l.owner, Tag: 1, Lease: 10, Left: Forever}
	if err := errors.Join(table.RestoreHeld(0, held), table.RestoreWaiting(0, waiting)); err != nil {
		t.Fatal(err)
	}
	check(t, table)
	if quota.used != 2 {
		t.Errorf("%d keys are counted, want 2", quota.used)
	}
}

func TestWhatWasGrantedOnceIsRestoredPastTheLimitOfKeys(t *testing.T) {
	t.Parallel()
	quota := &bound{max: 1}
	table := NewTable(&counter{last: 100}, quota, roomy)
	for i := range 3 {
		h := &Held{Key: numbered(i), Token: uint64(i + 1), Owner: &Owner{}, Lease: time.Second, Left: time.Second}
		if err := table.RestoreHeld(0, h); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, table.Acquire(0, dial("ann", "ann").acquire("k", 1, 10, 0)), Refused)
	expect(t, table.Tick(Instant(time.Second)), Expired, Expired, Expired)
	if quota.used != 0 {
		t.Errorf("%d keys are still counted", quota.used)
	}
}
