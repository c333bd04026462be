package lockcore

import (
	"testing"
	"time"
)

// use grants and releases a key.
func use(tb testing.TB, t *Table, l *line, key []byte) {
	tb.Helper()
	granted := t.Acquire(0, &Acquire{Conn: l, Owner: l.owner, Lease: time.Second, Key: key})
	expect(tb, granted, Granted)
	released := t.Release(0, &Release{Conn: l, Token: granted[0].Token, Key: key})
	expect(tb, released, Released)
}

func TestOfTheKeysReleasedOnlyTheLastAreRemembered(t *testing.T) {
	t.Parallel()
	table, quota := newRoomy()
	l := dial("ann", "ann")
	const many = 3*idleSlots + 7
	for i := range many {
		use(t, table, l, numbered(i))
	}
	check(t, table)
	if table.locks.count != idleSlots {
		t.Errorf("%d keys are remembered, want %d", table.locks.count, idleSlots)
	}
	for i := many - idleSlots; i < many; i++ {
		if table.locks.find(numbered(i)) == nil {
			t.Fatalf("key %d is forgotten before others", i)
		}
	}
	if quota.used != 0 {
		t.Errorf("%d keys count that nobody holds", quota.used)
	}
	use(t, table, l, numbered(0))
	check(t, table)
}

func TestAKeyUsedAgainIsNotForgottenForThoseReleasedSince(t *testing.T) {
	t.Parallel()
	table, _ := newRoomy()
	l := dial("ann", "ann")
	use(t, table, l, numbered(0))
	held := table.Acquire(0, l.acquire(string(numbered(0)), 0, time.Second, 0))[0].Token
	for i := range 2 * idleSlots {
		use(t, table, l, numbered(1+i))
	}
	check(t, table)
	expect(t, table.Release(0, l.release(string(numbered(0)), held)), Released)
	check(t, table)
}

// Each way for a key to become unused, each with the key held at first.
var endings = map[string]func(*Table, *line, uint64){
	"released": func(t *Table, l *line, token uint64) { t.Release(1, l.release("k", token)) },
	"expired":  func(t *Table, _ *line, _ uint64) { t.Tick(10) },
	"cancelled": func(t *Table, l *line, _ uint64) {
		t.Cancel(1, l.cancel("k", 1))
	},
	"the last waiter is abandoned": func(t *Table, l *line, token uint64) {
		leaveOneAway(t, l, token, Forever)
		t.Tick(Instant(time.Hour))
	},
	"the last waiter times out": func(t *Table, l *line, token uint64) {
		leaveOneAway(t, l, token, 2)
		t.Tick(Instant(time.Hour))
	},
	"the last waiter is cancelled": func(t *Table, l *line, token uint64) {
		leaveOneAway(t, l, token, Forever)
		t.Cancel(3, dial("bob", "bob").cancel("k", 1))
	},
	"the last waiter comes back and releases": func(t *Table, l *line, token uint64) {
		leaveOneAway(t, l, token, Forever)
		bob := dial("bob", "bob")
		t.Acquire(3, bob.acquire("k", 1, 10, 0))
		t.Cancel(3, bob.cancel("k", 1))
	},
	"a newcomer releases after the last waiter is gone": func(t *Table, l *line, token uint64) {
		leaveOneAway(t, l, token, Forever)
		eve := dial("eve", "eve")
		t.Acquire(3, eve.acquire("k", 1, 10, 0))
		t.Cancel(3, dial("bob", "bob").cancel("k", 1))
		t.Cancel(3, eve.cancel("k", 1))
	},
}

// leaveOneAway frees the key k with a waiter left for it that is away.
func leaveOneAway(t *Table, holder *line, token uint64, wait time.Duration) {
	bob := dial("bob", "bob")
	t.Acquire(1, bob.acquire("k", 1, 10, wait))
	t.Disconnect(1, bob)
	t.Release(1, holder.release("k", token))
}

func TestAKeyThatNobodyUsesDoesNotCountHoweverItEnded(t *testing.T) {
	t.Parallel()
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, quota := newRoomy()
			l := dial("ann", "ann")
			token := table.Acquire(0, l.acquire("k", 1, 10, 0))[0].Token
			if quota.used != 1 {
				t.Fatalf("a held key counts as %d", quota.used)
			}
			end(table, l, token)
			check(t, table)
			if quota.used != 0 {
				t.Errorf("a key that nobody uses counts as %d", quota.used)
			}
			if due := table.Due(); due != Never {
				t.Errorf("the timer is set to %d for nothing", due)
			}
		})
	}
}

func TestSparesAreFewAndHoldOnToNothing(t *testing.T) {
	t.Parallel()
	var s spares[waiter]
	for range 2 * maxSpares {
		s.put(&waiter{owner: &Owner{}, place: 3})
	}
	if len(s.list) != maxSpares {
		t.Errorf("%d spares are kept, want %d", len(s.list), maxSpares)
	}
	for range 2 * maxSpares {
		if w := s.get(); *w != (waiter{}) {
			t.Fatalf("a spare holds on to %+v", w)
		}
	}
}
