package replication

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/caddylock/caddylock/lockcore"
)

// sample is a state with every kind of record.
func sample() *state {
	anna := &lockcore.Owner{Client: "anna............", Addr: "192.0.2.1:1"}
	nobody := &lockcore.Owner{Addr: "192.0.2.2:2"}
	return &state{
		generation: 946684801,
		written:    time.UnixMilli(946684800_123),
		held: []lockcore.Held{
			{Key: []byte("x"), Owner: anna, Tag: 7, Token: 1 << 62, Lease: time.Minute, Left: time.Second, Age: time.Hour},
			{Key: []byte(" \xff key "), Owner: nobody, Token: 1, Lease: 1, Left: 0, Age: 0},
		},
		waiting: []lockcore.Waiting{
			{Key: []byte("x"), Owner: anna, Tag: 8, Lease: time.Minute, Left: lockcore.Forever, Age: time.Second},
			{Key: []byte("x"), Owner: anna, Tag: math.MaxUint64, Lease: 1, Left: 0},
		},
	}
}

func encode(s *state) []byte {
	w := newStateWriter(s.generation, s.written)
	for i := range s.held {
		w.heldLock(&s.held[i])
	}
	for i := range s.waiting {
		w.waitingAcquire(&s.waiting[i])
	}
	return w.finish()
}

// seal makes a file with a valid checksum out of any content.
func seal(content []byte) []byte {
	file := append([]byte(stateMagic), content...)
	sum := sha256.Sum256(file)
	return append(file, sum[:]...)
}

func TestAStateIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, want := range []*state{sample(), {written: time.UnixMilli(0)}} {
		got, err := decodeState(encode(want))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, written %+v", got, want)
		}
	}
}

func TestAStateLeavesOutWhatEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	s := sample()
	s.waiting = append(s.waiting,
		lockcore.Waiting{Key: []byte("x"), Owner: &lockcore.Owner{Client: "bert............"}, Lease: 1},
		lockcore.Waiting{Key: []byte("x"), Owner: &lockcore.Owner{}, Tag: 1, Lease: 1})
	got, err := decodeState(encode(s))
	if err != nil || len(got.waiting) != 2 {
		t.Errorf("%d waiters were read back, want 2 (%v)", len(got.waiting), err)
	}
}

func TestAStateThatIsCutOffAnywhereIsNotRead(t *testing.T) {
	t.Parallel()
	file := encode(sample())
	for length := range file {
		mustNotRead(t, file[:length])
	}
}

func TestAStateWithAnyBitFlippedIsNotRead(t *testing.T) {
	t.Parallel()
	file := encode(sample())
	for bit := range 8 * len(file) {
		mustNotRead(t, flipped(file, bit))
	}
}

func TestAStateWithBytesAfterItsEndIsNotRead(t *testing.T) {
	t.Parallel()
	file := encode(sample())
	mustNotRead(t, append(bytes.Clone(file), 0))
	content := file[len(stateMagic) : len(file)-sha256.Size]
	mustNotRead(t, seal(append(bytes.Clone(content), 0)))
}

func TestAStateThatIsWholeButMeaninglessIsNotRead(t *testing.T) {
	t.Parallel()
	header := []byte{1, 1}
	for name, content := range map[string][]byte{
		"nothing":                  {},
		"no end":                   header,
		"an unknown record":        append(header, 3, 0),
		"a record that is cut off": append(header, recordHeld, 1, 'k'),
		"a key that is too long":   append(header, append([]byte{recordHeld, 0xff, 0xff, 3}, make([]byte, 1<<16)...)...),
		"a number that overflows":  {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
	} {
		if s, err := decodeState(seal(content)); err == nil {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
}

func mustNotRead(t *testing.T, file []byte) {
	t.Helper()
	if s, err := decodeState(file); !errors.Is(err, errBadState) {
		t.Errorf("%q is read as %+v, error %v", file, s, err)
	}
}

func flipped(file []byte, bit int) []byte {
	damaged := bytes.Clone(file)
	damaged[bit/8] ^= 1 << (bit % 8)
	return damaged
}

func TestTheTimeANodeWasStoppedPassesForWhatItLeft(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	for name, c := range map[string]struct{ lease, left, gone, want time.Duration }{
		"a long lease":                {time.Hour, time.Hour, time.Minute, 59 * time.Minute},
		"a lease that is nearly over": {time.Hour, time.Minute, 58 * time.Second, 2 * o.FailureTimeout},
		"a lease that is over":        {time.Hour, time.Minute, time.Hour, 2 * o.FailureTimeout},
		"a short lease":               {time.Second, 500 * time.Millisecond, time.Hour, time.Second},
		"a clock that was set back":   {time.Hour, time.Minute, -time.Hour, time.Minute},
		"the longest times":           {math.MaxInt64, math.MaxInt64, math.MaxInt64, 2 * o.FailureTimeout},
	} {
		written := time.Unix(0, 0)
		s := &state{written: written, held: []lockcore.Held{{Lease: c.lease, Left: c.left, Age: math.MaxInt64}}}
		s.elapse(written.Add(c.gone), &o)
		if got := s.held[0].Left; got != c.want {
			t.Errorf("%s: %s left, want %s", name, got, c.want)
		}
		if s.held[0].Age < 0 {
			t.Errorf("%s: the age overflows", name)
		}
	}
}

func TestAWaitOfAStoppedNodeGoesOnUnlessItIsForEver(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	written := time.Unix(1, 0)
	s := &state{written: written, waiting: []lockcore.Waiting{
		{Left: lockcore.Forever}, {Left: time.Minute}, {Left: time.Second},
	}}
	s.elapse(written.Add(10*time.Second), &o)
	for i, want := range []time.Duration{lockcore.Forever, 50 * time.Second, 0} {
		if got := s.waiting[i].Left; got != want {
			t.Errorf("waiter %d: %s left, want %s", i, got, want)
		}
	}
}
