package lockcore

// idleSlots is how many locks a table keeps after their release. A program that
// locks the same keys again and again then costs no allocation and one look
// into the map; a key that is not used again is forgotten after as many others.
const idleSlots = 256

// idleRing holds the locks released last. A lock in it is neither held nor
// waited for, counts for nothing, and has its slot as its place.
type idleRing struct {
	slots [idleSlots]*lock
	next  int
}

// add puts a lock in and returns the one that has to go for it, if any.
func (r *idleRing) add(l *lock) (evicted *lock) {
	evicted = r.slots[r.next]
	r.slots[r.next] = l
	l.place = int32(r.next)
	r.next = (r.next + 1) % idleSlots
	return evicted
}

// remove takes a lock out that is in use again.
func (r *idleRing) remove(l *lock) {
	r.slots[l.place] = nil
	l.place = unplaced
}

// maxSpares is how many structs of a kind a table keeps for the next one.
const maxSpares = 256

// spares keeps structs that are no longer used, so that a table in its steady
// state does not allocate.
type spares[T any] struct {
	list []*T
}

func (s *spares[T]) get() *T {
	if len(s.list) == 0 {
		return new(T)
	}
	last := len(s.list) - 1
	item := s.list[last]
	s.list = s.list[:last]
	return item
}

// put clears the item: a spare holds on to nothing.
func (s *spares[T]) put(item *T) {
	var zero T
	*item = zero
	if len(s.list) < maxSpares {
		s.list = append(s.list, item)
	}
}
