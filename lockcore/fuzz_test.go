package lockcore

import "testing"

// dealt makes the choices of a history out of bytes.
type dealt struct{ bytes []byte }

func (d *dealt) IntN(n int) int {
	if len(d.bytes) == 0 {
		return 0
	}
	first := int(d.bytes[0])
	d.bytes = d.bytes[1:]
	return first % n
}

// FuzzTable reads bytes as a history: commands and the instants between them.
// Table.Check, the twin and the trace look at every step.
func FuzzTable(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("acquire, acquire, disconnect, release, acquire, snapshot, tick, tick"))
	f.Add([]byte{2, 4, 4, 1, 3, 0, 0, 1, 4, 0, 1, 1, 1, 3, 2, 1, 4, 0, 1, 1, 99, 3, 1, 1, 3, 80, 2, 9, 1, 7, 98, 5})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		choices := &dealt{bytes}
		h := newHistory(choices)
		for len(choices.bytes) > 0 {
			if err := h.step(); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.drain(); err != nil {
			t.Fatal(err)
		}
	})
}
