package replication

import (
	"reflect"
	"slices"
	"testing"

	"github.com/caddylock/caddylock/lockcore"
)

// FuzzState reads bytes as a state file, and as the content of one whose
// checksum is right. What can be read can be written and read again, and a node
// takes up all of it or nothing.
func FuzzState(f *testing.F) {
	whole := encode(sample())
	f.Add([]byte{})
	f.Add(whole)
	f.Add(whole[len(stateMagic) : len(whole)-32])
	f.Add([]byte{1, 1, recordEnd})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := decodeState(data); err == nil {
			mustReencode(t, data)
		}
		if file := seal(data); mustReencode(t, file) {
			mustFill(t, file)
		}
	})
}

// mustReencode reports whether the file could be read; if so, it must be the
// same after it was written again, but for waiters that no node writes.
func mustReencode(t *testing.T, file []byte) bool {
	t.Helper()
	s, err := decodeState(file)
	if err != nil {
		return false
	}
	again, err := decodeState(encode(s))
	if err != nil {
		t.Fatalf("written again, it cannot be read: %v", err)
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(w lockcore.Waiting) bool { return !w.Survives() })
	if len(s.waiting) == 0 {
		s.waiting = nil
	}
	if !reflect.DeepEqual(s, again) {
		t.Fatalf("read %+v, and after writing it again %+v", s, again)
	}
	return true
}

// mustFill has a node take the state up.
func mustFill(t *testing.T, file []byte) {
	t.Helper()
	s, err := decodeState(file)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t)
	held, waiting := len(s.held), len(s.waiting)
	h.node.restore(s, s.written)
	gotHeld, gotWaiting := h.count()
	if (gotHeld != 0 || gotWaiting != 0) && (gotHeld != held || gotWaiting != waiting) {
		t.Errorf("of %d held and %d waiting, %d and %d were taken up", held, waiting, gotHeld, gotWaiting)
	}
	h.check()
}
