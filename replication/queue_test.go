package replication

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// queueUp has n acquires of one key sent over a number of connections, one
// after the other, and returns who sent which.
func queueUp(h *host, n, connections int, key string) []*caller {
	callers := make([]*caller, connections)
	for i := range callers {
		callers[i] = h.dial()
	}
	inLine := make([]*caller, n)
	for i := range inLine {
		inLine[i] = callers[i%connections]
		inLine[i].send(fmt.Sprintf("A#%d 30 0 %s\n", i+1, key))
		synctest.Wait()
	}
	return inLine
}

func TestTenThousandWaitersOfOneKeyAreServedInOrder(t *testing.T) {
	t.Parallel()
	const waiters, connections = 10_000, 100
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		holder := h.dial()
		holder.send("A 30 0 k\n")
		synctest.Wait()
		granted, _ := holder.next()
		for i, c := range queueUp(h, waiters, connections, "k") {
			holder.send("R " + tokenOf(t, granted) + " k\n")
			synctest.Wait()
			var ok bool
			if granted, ok = c.next(); !ok || !strings.HasPrefix(granted, fmt.Sprintf("A#%d ", i+1)) {
				t.Fatalf("the waiter at place %d got %q", i+1, granted)
			}
		}
	})
}

func TestLeasesThatAllEndAtOnceAreHandedOverAtOnce(t *testing.T) {
	t.Parallel()
	const keys = 5_000
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		holder, waiter := h.dial(), h.dial()
		for i := range keys {
			holder.send(fmt.Sprintf("A 10 0 key/%d\n", i))
			synctest.Wait()
			waiter.send(fmt.Sprintf("A 10 0 key/%d\n", i))
			synctest.Wait()
		}
		if got := len(holder.take()); got != keys {
			t.Fatalf("%d locks granted, want %d", got, keys)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := len(waiter.take()); got != keys {
			t.Errorf("%d locks handed over, want %d", got, keys)
		}
	})
}

func TestAWaitWithoutLimitLastsAYear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.options.MaxLease = LongestMaxLease
		h.start()
		h.node.stop() // Nobody looks for silence: a year has many seconds.
		holder, waiter := h.dial(), h.dial()
		holder.send("A 63072000 0 k\n")
		synctest.Wait()
		granted, _ := holder.next()
		waiter.send("A 30 0 k\n")
		time.Sleep(365 * 24 * time.Hour)
		if line, ok := waiter.next(); ok {
			t.Fatalf("within a year the waiter got %q", line)
		}
		holder.send("R " + tokenOf(t, granted) + " k\n")
		synctest.Wait()
		if line, _ := waiter.next(); !strings.HasPrefix(line, "A ") {
			t.Errorf("after a year the waiter got %q", line)
		}
	})
}
