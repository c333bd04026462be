package replication

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// race is one round of a client that gives up its connection 1 while what it
// sent there is under way.
type race struct {
	tb       testing.TB
	host     *host
	id, key  string
	old, new *phone
}

// rounds is how often a race is run.
func rounds() int {
	if testing.Short() {
		return 50
	}
	return 400
}

func newRace(h *host, round int) *race {
	r := &race{
		tb: h.tb, host: h, id: fmt.Sprintf("racer-%016d", round), key: fmt.Sprintf("key-%d", round),
		old: h.phone(), new: h.phone(),
	}
	r.old.ask("H " + r.id + " 1")
	r.new.ask("H " + r.id + " 2")
	return r
}

// run sends lines on the old connection while the new one gives it up. Nobody
// waits for what the old one may still answer.
func (r *race) run(lines ...string) {
	var sending sync.WaitGroup
	sending.Go(func() { _, _ = r.old.sock.Write([]byte(strings.Join(lines, "\n") + "\n")) })
	sending.Go(func() {
		buf := make([]byte, 1<<10)
		for {
			if _, err := r.old.sock.Read(buf); err != nil {
				return
			}
		}
	})
	r.new.expect("X 1", "X 1")
	defer sending.Wait()
	defer r.old.hangUp()
	first := r.new.ask("Q " + r.key)
	for range 3 {
		if again := r.new.ask("Q " + r.key); holding(again) != holding(first) {
			r.tb.Errorf("%s changed after X was answered: %q, then %q", r.key, first, again)
		}
	}
}

// holding returns what Q answers about the holder and the waiters, without the
// time that is left.
func holding(q string) string {
	fields := strings.Fields(q)
	if len(fields) != 5 {
		return q
	}
	return "holder " + fields[1] + ", waiters " + fields[3]
}

func TestAnAcquireOfAConnectionGivenUpIsGrantedBeforeOrNever(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	for i := range rounds() {
		r := newRace(h, i)
		r.run("A#1 30 0 "+r.key, "P", "P")
		before := strings.Fields(r.new.ask("Q " + r.key))[1]
		token := tokenOf(t, r.new.ask("A#1 30 try "+r.key))
		if before != "0" && token != before {
			t.Errorf("round %d: the lock was held under %s, the repetition got %s", i, before, token)
		}
		r.new.expect("C#2 1 "+r.key, "C#2 1 "+r.key)
		r.new.expect("Q "+r.key, "Q 0 0 0 "+r.key)
	}
	h.check()
}

func TestAWaiterOfAConnectionGivenUpIsNeverGrantedThere(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	holder := h.phone()
	for i := range rounds() {
		r := newRace(h, i)
		token := holder.acquire("30", r.key)
		r.run("A#1 30 0 "+r.key, "A 30 0 "+r.key, "A#2 30 0 "+r.key)
		holder.expect("R "+token+" "+r.key, "R "+token+" "+r.key)
		if got := r.new.ask("Q " + r.key); !strings.HasPrefix(got, "Q 0 ") {
			t.Errorf("round %d: a ghost was granted: %q", i, got)
		}
		r.new.ask("C#8 1 " + r.key)
		r.new.ask("C#9 2 " + r.key)
		r.new.expect("Q "+r.key, "Q 0 0 0 "+r.key)
	}
	h.check()
}

func TestAReleaseOfAConnectionGivenUpIsDoneBeforeOrNever(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	for i := range rounds() {
		r := newRace(h, i)
		token := r.new.acquire("30", r.key)
		r.run("P", "R "+token+" "+r.key, "K "+token+" 1 "+r.key)
	}
	h.check()
}

func TestTheFirstHelloOfAConnectionGivenUpIsServedBeforeOrNever(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	for i := range rounds() {
		id, key := fmt.Sprintf("racer-%016d", i), fmt.Sprintf("key-%d", i)
		late, now := h.phone(), h.phone()
		now.ask("H " + id + " 2")
		var sending sync.WaitGroup
		sending.Go(func() { _, _ = late.sock.Write([]byte("H " + id + " 3\nA#1 30 0 " + key + "\n")) })
		now.expect("X 3", "X 3")
		first := now.ask("Q " + key)
		late.hangUp()
		sending.Wait()
		if again := now.ask("Q " + key); holding(again) != holding(first) {
			t.Errorf("round %d: changed after X was answered: %q, then %q", i, first, again)
		}
	}
}
