package lockcore

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// mark is an item for a heap of deadlines.
type mark struct {
	place int32
	at    Instant
	seq   uint64
}

func (m *mark) setPlace(place int32) { m.place = place }

// marks is a heap together with a plain list of what is in it.
type marks struct {
	heap deadlines[*mark]
	list []*mark
	seq  uint64
}

func (m *marks) set(item *mark, at Instant) {
	m.seq++
	if item.place == unplaced {
		m.list = append(m.list, item)
	}
	item.at, item.seq = at, m.seq
	m.heap.set(item, item.place, at, m.seq)
}

func (m *marks) remove(i int) {
	item := m.list[i]
	m.list = slices.Delete(m.list, i, i+1)
	m.heap.remove(item.place)
}

func (m *marks) earliest() *mark {
	return slices.MinFunc(m.list, func(a, b *mark) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
}

func (m *marks) check(t *testing.T) {
	t.Helper()
	if len(m.heap.heap) != len(m.list) {
		t.Fatalf("%d deadlines in the heap, want %d", len(m.heap.heap), len(m.list))
	}
	for _, item := range m.list {
		if got := m.heap.heap[item.place]; got.item != item || got.at != item.at || got.seq != item.seq {
			t.Fatalf("at the place of %+v stands %+v", item, got)
		}
	}
	switch first := m.heap.first(); {
	case len(m.list) == 0 && first != nil:
		t.Fatalf("an empty heap has %+v first", first)
	case len(m.list) > 0 && first.item != m.earliest():
		t.Fatalf("first is %+v, want %+v", first, m.earliest())
	}
}

func TestTheEarliestDeadlineIsAlwaysFirst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		choose := rand.New(rand.NewPCG(seed, 1))
		m := &marks{}
		for range 300 {
			at := Instant(choose.IntN(40))
			switch p := choose.IntN(5); {
			case p < 2 || len(m.list) == 0:
				m.set(&mark{place: unplaced}, at)
			case p < 4:
				m.set(m.list[choose.IntN(len(m.list))], at)
			default:
				m.remove(choose.IntN(len(m.list)))
			}
			m.check(t)
		}
		for len(m.list) > 0 {
			m.remove(slices.Index(m.list, m.heap.first().item))
			m.check(t)
		}
	}
}

func TestEqualDeadlinesComeInTheOrderSet(t *testing.T) {
	t.Parallel()
	m := &marks{}
	const many = 100
	for range many {
		m.set(&mark{place: unplaced}, 7)
	}
	m.set(m.list[0], 7)
	for i := range many {
		first := m.heap.first().item
		if want := m.list[0]; i < many-1 && first != m.list[1] || i == many-1 && first != want {
			t.Fatalf("deadline %d is not the one set then", i)
		}
		m.remove(slices.Index(m.list, first))
	}
}

func TestARemovedItemHasNoPlace(t *testing.T) {
	t.Parallel()
	m := &marks{}
	items := []*mark{{place: unplaced}, {place: unplaced}, {place: unplaced}}
	for i, item := range items {
		m.set(item, Instant(i))
	}
	for _, item := range []*mark{items[1], items[2], items[0]} {
		m.remove(slices.Index(m.list, item))
		if item.place != unplaced {
			t.Errorf("a removed item is still at %d", item.place)
		}
	}
}

func TestDeadlinesGiveTheirMemoryBackAfterAPeak(t *testing.T) {
	t.Parallel()
	m := &marks{}
	const peak = 100_000
	for i := range peak {
		m.set(&mark{place: unplaced}, Instant(i))
	}
	for len(m.list) > 10 {
		m.remove(len(m.list) - 1)
		if held := cap(m.heap.heap); held > max(minHeap, 8*len(m.list)) && len(m.list) < peak/8 {
			t.Fatalf("%d deadlines in room for %d", len(m.list), held)
		}
	}
	m.check(t)
	rest := m.heap.heap[len(m.heap.heap):cap(m.heap.heap)]
	if slices.ContainsFunc(rest, func(d due[*mark]) bool { return d.item != nil }) {
		t.Error("a removed item is still referred to")
	}
}

func TestDeadlinesOfDifferentHeapsCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		at, otherAt      Instant
		seq, otherSeq    uint64
		earlier, reverse bool
	}{
		{"sooner", 1, 2, 9, 3, true, false},
		{"at once and set before", 2, 2, 3, 9, true, false},
		{"the same", 2, 2, 3, 3, false, false},
	} {
		if earlier(c.at, c.seq, c.otherAt, c.otherSeq) != c.earlier || earlier(c.otherAt, c.otherSeq, c.at, c.seq) != c.reverse {
			t.Errorf("%s: wrong order", c.name)
		}
	}
}
