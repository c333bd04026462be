package replication

import (
	"bytes"
	"strings"
	"testing"

	"github.com/caddylock/caddylock/lockcore/wire"
)

func newOutbox() *outbox { return &outbox{writing: make(chan struct{}, 1)} }

// timeout is a reply of a known length.
func timeout(length int) *wire.Reply {
	return &wire.Reply{Kind: wire.KindTimeout, Key: []byte(strings.Repeat("k", length-len("T \n")))}
}

func TestWhoFillsAnEmptyOutboxSeesToItsFlush(t *testing.T) {
	t.Parallel()
	o := newOutbox()
	for i, want := range []bool{true, false, false} {
		if flush, _ := o.add(timeout(10), 100); flush != want {
			t.Errorf("reply %d: flush is %t, want %t", i, flush, want)
		}
	}
	if out := o.take(); len(out) != 30 {
		t.Errorf("%d bytes are written, want 30", len(out))
	}
	if flush, _ := o.add(timeout(10), 100); flush {
		t.Error("a flush is asked for while one is under way")
	}
	if o.take() == nil || o.take() != nil {
		t.Error("the outbox does not end empty")
	}
	if flush, _ := o.add(timeout(10), 100); !flush {
		t.Error("no flush is asked for after the last one ended")
	}
}

func TestAnOutboxIsFullPastItsLimitAndNotBefore(t *testing.T) {
	t.Parallel()
	o := newOutbox()
	for i := range 10 {
		if _, full := o.add(timeout(10), 100); full {
			t.Errorf("full at %d bytes of 100", 10*(i+1))
		}
	}
	if _, full := o.add(timeout(4), 100); !full {
		t.Error("not full at 104 bytes of 100")
	}
}

func TestAClosedOutboxTakesAndGivesNothing(t *testing.T) {
	t.Parallel()
	o := newOutbox()
	o.add(timeout(10), 100)
	o.close()
	if flush, full := o.add(timeout(10), 1); flush || full || o.take() != nil {
		t.Error("a closed outbox has something to write")
	}
}

func TestWhatIsBeingWrittenIsNotChangedByWhatComes(t *testing.T) {
	t.Parallel()
	o := newOutbox()
	for i := range byte(5) {
		o.add(&wire.Reply{Kind: wire.KindTimeout, Key: []byte{'a' + i}}, 100)
		out := o.take()
		o.add(timeout(10), 100)
		if want := []byte{'T', ' ', 'a' + i, '\n'}; !bytes.Equal(out, want) {
			t.Errorf("%q is written, want %q", out, want)
		}
		o.take()
		o.take()
	}
}

func TestAnOutboxGivesItsMemoryBackAfterAPeak(t *testing.T) {
	t.Parallel()
	o := newOutbox()
	for range 1000 {
		o.add(timeout(1000), 1<<20)
	}
	for out := o.take(); out != nil; out = o.take() {
		continue
	}
	if kept := cap(o.buf) + cap(o.spare); kept > 2*maxKeptBuffer {
		t.Errorf("an empty outbox keeps %d bytes", kept)
	}
}
