package replication

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/lockcore"
)

// left returns the storage of a node that was stopped while a lock was held and
// an acquire waited for it.
func left(t *testing.T) *fakeStorage {
	t.Helper()
	h := startedHost(t)
	holder, waiter := h.phone(), h.phone()
	holder.acquire("600", "k")
	waiter.ask("H anna............ 1")
	waiter.say("A#1 30 0 k")
	eventually(t, "the acquire waits", func() bool { _, waiting := h.count(); return waiting == 1 })
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	return h.storage
}

func TestADamagedStateIsSetAsideAndTheNodeServesWithoutIt(t *testing.T) {
	t.Parallel()
	storage := left(t)
	whole := []byte(storage.get("state"))
	damaged := [][]byte{{}, []byte("{}"), []byte("caddylock state 2\n"), bytes.Repeat([]byte{0xff}, 100)}
	for length := range whole {
		damaged = append(damaged, whole[:length])
	}
	for bit := range 8 * len(whole) {
		damaged = append(damaged, flipped(whole, bit))
	}
	for _, file := range damaged {
		startsEmpty(t, storage, file)
	}
}

// startsEmpty starts a node on a damaged file.
func startsEmpty(t *testing.T, storage *fakeStorage, file []byte) {
	t.Helper()
	h := newHost(t)
	h.storage = storage.copy()
	h.storage.put("state", string(file))
	h.start()
	defer h.kill()
	switch {
	case !h.node.Serving() || !h.isEmpty():
		t.Errorf("after %q the node is not empty or does not serve", file)
	case !h.warned("a damaged state file is set aside; the locks held before are not taken up"):
		t.Errorf("after %q the log warns %q", file, h.warnings())
	case h.storage.has("state") || h.storage.get("state.damaged") != string(file):
		t.Errorf("after %q the file is not set aside", file)
	}
}

func TestADamagedStateThatCannotBeSetAsideDoesNotPreventTheStart(t *testing.T) {
	t.Parallel()
	for _, at := range []access{{"store", "state.damaged"}, {"delete", "state"}} {
		h := newHost(t)
		h.storage.put("state", "damaged")
		h.storage.breakAt(at.op, at.key, fails)
		h.start()
		if got := h.storage.get("state"); got != "damaged" {
			t.Errorf("%v failed, the file is %q", at, got)
		}
		h.phone().acquire("30", "k")
	}
}

// TestAStateWithOneImpossibleRecordIsNotTakenUpAtAll: half a table is worse
// than none.
func TestAStateWithOneImpossibleRecordIsNotTakenUpAtAll(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*state){
		"a key is held twice":  func(s *state) { s.held = append(s.held, s.held[0]) },
		"an acquire is twice":  func(s *state) { s.waiting = append(s.waiting, s.waiting[0]) },
		"a token is zero":      func(s *state) { s.held[1].Token = 0 },
		"a lease is zero":      func(s *state) { s.held[1].Lease = 0 },
		"a waiter has no name": func(s *state) { s.waiting[1].Owner = &lockcore.Owner{}; s.waiting[1].Tag = 0 },
		"a waiter has no time": func(s *state) { s.waiting[1].Lease = 0 },
	} {
		s := sample()
		spoil(s)
		h := newHost(t)
		h.storage.put("generation", "946684801")
		h.storage.put("state", string(encodeAsIs(s)))
		h.start()
		if !h.node.Serving() || !h.isEmpty() {
			t.Errorf("%s: the node is not empty or does not serve", name)
		}
		if !h.warned("the locks held before are not taken up") {
			t.Errorf("%s: the log warns %q", name, h.warnings())
		}
		h.check()
	}
}

// encodeAsIs encodes also what no node would write.
func encodeAsIs(s *state) []byte {
	w := newStateWriter(s.generation, s.written)
	for i := range s.held {
		w.heldLock(&s.held[i])
	}
	for i := range s.waiting {
		a := &s.waiting[i]
		w.buf = append(w.buf, recordWaiting)
		w.acquire(a.Key, a.Owner, a.Tag)
		w.duration(a.Lease)
		w.duration(a.Left)
		w.duration(a.Age)
	}
	return w.finish()
}

func TestAStateOfAnOlderGenerationIsNotTakenUp(t *testing.T) {
	t.Parallel()
	storage := left(t)
	for _, last := range []string{"1", "", "99999999999999999999", "0x7", storage.get("generation") + "0"} {
		h := newHost(t)
		h.storage = storage.copy()
		h.storage.put("generation", last)
		h.start()
		if !h.isEmpty() {
			t.Errorf("with %q as the last generation, the state was taken up", last)
		}
	}
}

// TestAReloadToAnotherStorageJustBeforeTheEndLosesNothing: the new generation
// must get into the new storage before the state does.
func TestAReloadToAnotherStorageJustBeforeTheEndLosesNothing(t *testing.T) {
	t.Parallel()
	for range 50 {
		h := startedHost(t)
		p := h.phone()
		p.acquire("30", "k")
		p.hangUp()
		h.storage = newFakeStorage()
		h.node.Reconfigure(h.env())
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		h.start()
		if held, _ := h.count(); held != 1 {
			t.Fatalf("%d locks are held after the restart, want 1", held)
		}
	}
}

func TestAFileOfOneNodeIsNothingToAnother(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	env := h.env()
	env.Prefix = "a/"
	if err := h.node.Start(context.Background(), env); err != nil {
		t.Fatal(err)
	}
	h.phone().acquire("30", "k")
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if !h.storage.has("a/state") || !h.storage.has("a/generation") {
		t.Error("the files are not under the node's prefix")
	}
	h.start()
	if !h.isEmpty() {
		t.Error("the state of another node was taken up")
	}
}

func TestAHundredThousandLocksSurviveARestart(t *testing.T) {
	t.Parallel()
	const locks = 100_000
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		c := h.dial()
		var lines strings.Builder
		for i := range locks {
			fmt.Fprintf(&lines, "A 600 0 key/%d\n", i)
		}
		c.send(lines.String())
		synctest.Wait()
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		h.start()
		if held, _ := h.count(); held != locks || h.node.quota.used.Load() != locks {
			t.Errorf("%d locks are held, %d counted, want %d", held, h.node.quota.used.Load(), locks)
		}
		h.check()
	})
}
