package lockcore

// unplaced is the place of an item that no heap holds.
const unplaced int32 = -1

// placed is an item that remembers its place in a heap, so that a deadline can
// be moved or dropped without a search.
type placed interface {
	setPlace(int32)
}

// due is one deadline. seq is the order in which deadlines were set: equal
// deadlines fire in that order. It stands in the heap rather than in the item
// so that sifting touches one array.
type due[T placed] struct {
	at   Instant
	seq  uint64
	item T
}

func (d *due[T]) before(e *due[T]) bool { return earlier(d.at, d.seq, e.at, e.seq) }

// earlier orders deadlines, also those of different heaps.
func earlier(at Instant, seq uint64, otherAt Instant, otherSeq uint64) bool {
	return at < otherAt || at == otherAt && seq < otherSeq
}

// deadlines is a binary heap, the earliest deadline first. Set and remove are
// O(log n); a deadline later than all others, the usual case for leases of one
// length, is O(1) to add.
type deadlines[T placed] struct {
	heap []due[T]
}

// minHeap is the capacity below which a heap is not worth shrinking.
const minHeap = 1024

// set puts the item's deadline at at, wherever it was before.
func (d *deadlines[T]) set(item T, place int32, at Instant, seq uint64) {
	entry := due[T]{at: at, seq: seq, item: item}
	if place == unplaced {
		d.heap = append(d.heap, entry)
		d.up(len(d.heap)-1, entry)
		return
	}
	d.fix(int(place), entry)
}

// remove drops the item at place.
func (d *deadlines[T]) remove(place int32) {
	d.heap[place].item.setPlace(unplaced)
	last := len(d.heap) - 1
	moved := d.heap[last]
	d.heap[last] = due[T]{}
	d.heap = d.heap[:last]
	if int(place) < last {
		d.fix(int(place), moved)
	}
	d.shrink()
}

// first returns the earliest deadline, or nil.
func (d *deadlines[T]) first() *due[T] {
	if len(d.heap) == 0 {
		return nil
	}
	return &d.heap[0]
}

// fix puts entry where the hole at i is, or wherever it belongs from there.
func (d *deadlines[T]) fix(i int, entry due[T]) {
	if i > 0 && entry.before(&d.heap[(i-1)/2]) {
		d.up(i, entry)
	} else {
		d.down(i, entry)
	}
}

func (d *deadlines[T]) up(i int, entry due[T]) {
	for i > 0 {
		parent := (i - 1) / 2
		if !entry.before(&d.heap[parent]) {
			break
		}
		d.place(i, d.heap[parent])
		i = parent
	}
	d.place(i, entry)
}

func (d *deadlines[T]) down(i int, entry due[T]) {
	for {
		child := 2*i + 1
		if child >= len(d.heap) {
			break
		}
		if right := child + 1; right < len(d.heap) && d.heap[right].before(&d.heap[child]) {
			child = right
		}
		if !d.heap[child].before(&entry) {
			break
		}
		d.place(i, d.heap[child])
		i = child
	}
	d.place(i, entry)
}

func (d *deadlines[T]) place(i int, entry due[T]) {
	d.heap[i] = entry
	entry.item.setPlace(int32(i))
}

// shrink gives memory back after a peak; halving at a quarter keeps it O(1)
// amortised.
func (d *deadlines[T]) shrink() {
	if cap(d.heap) > minHeap && len(d.heap) < cap(d.heap)/4 {
		smaller := make([]due[T], len(d.heap), cap(d.heap)/2)
		copy(smaller, d.heap)
		d.heap = smaller
	}
}
