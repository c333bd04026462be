package replication

import (
	"fmt"
	"testing"

	"github.com/caddylock/caddylock/lockcore"
)

func newClients() *clients { return &clients{byID: make(map[string]*client)} }

func TestANumberIsOpenedOnceAndInGrowingOrder(t *testing.T) {
	t.Parallel()
	cs, id := newClients(), []byte("anna............")
	for _, c := range []struct {
		number uint64
		opens  bool
	}{{2, true}, {2, false}, {1, false}, {3, true}, {10, true}, {9, false}} {
		if opened := cs.open(id, c.number, &Conn{}) != nil; opened != c.opens {
			t.Errorf("connection %d opens: %t, want %t", c.number, opened, c.opens)
		}
	}
}

func TestANumberGivenUpIsNeverOpened(t *testing.T) {
	t.Parallel()
	cs, id := newClients(), []byte("anna............")
	first := &Conn{}
	anna := cs.open(id, 1, first)
	if cs.giveUp(anna, 1) != first || cs.giveUp(anna, 5) != nil {
		t.Error("giving up returns the wrong connection")
	}
	if cs.open(id, 5, &Conn{}) != nil || cs.open(id, 6, &Conn{}) == nil {
		t.Error("5 was given up, 6 was not")
	}
}

func TestAClientIsRememberedForAMinuteAfterItsLastConnection(t *testing.T) {
	t.Parallel()
	cs := newClients()
	minute := lockcore.Instant(0).Add(clientMemory)
	gone := cs.open([]byte("gone............"), 1, &Conn{})
	cs.open([]byte("here............"), 1, &Conn{})
	back := cs.open([]byte("back............"), 1, &Conn{})
	cs.close(gone, 1, 0)
	cs.close(back, 1, 0)
	if cs.open([]byte("back............"), 2, &Conn{}) != back {
		t.Error("a client that came back is another one")
	}
	cs.sweep(minute - 1)
	if len(cs.byID) != 3 {
		t.Errorf("%d clients are remembered within the minute, want 3", len(cs.byID))
	}
	cs.sweep(minute)
	if len(cs.byID) != 2 || cs.byID["gone............"] != nil {
		t.Errorf("%d clients are remembered after the minute, want those with a connection", len(cs.byID))
	}
}

func TestNoMoreThanSoManyAbsentClientsAreRemembered(t *testing.T) {
	t.Parallel()
	cs := newClients()
	for i := range maxAbsentClients + 1000 {
		c := cs.open(fmt.Appendf(nil, "client-%09d", i), 1, &Conn{})
		cs.close(c, 1, lockcore.Instant(i))
	}
	if len(cs.byID) != maxAbsentClients || cs.absent.Len() != maxAbsentClients {
		t.Errorf("%d clients are remembered, %d of them absent", len(cs.byID), cs.absent.Len())
	}
	if cs.byID["client-000000999"] != nil || cs.byID["client-000001000"] == nil {
		t.Error("not the longest absent were forgotten")
	}
}
