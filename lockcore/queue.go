package lockcore

import (
	"cmp"
	"slices"
)

// queue is those who wait for one key. Those present and never away are linked
// in the order they arrived: to add one and to grant to the first is O(1). Those
// who came back stand in a heap by their arrival, for they come back in any
// order and, after a failover, all at once. Those away are kept apart, so that
// passing them over costs nothing.
type queue struct {
	first, last *waiter
	linked      int

	returned deadlines[returned]

	firstAway *waiter
	absent    int
}

// returned is a waiter in the heap of those who came back, whose order is the
// arrival: the heap's instants are all 0.
type returned struct{ *waiter }

func (r returned) setPlace(place int32) { r.line = place }

// present counts those who can be granted the key.
func (q *queue) present() int { return q.linked + len(q.returned.heap) }

func (q *queue) size() int { return q.present() + q.absent }

// front returns the first waiter present, or nil.
func (q *queue) front() *waiter {
	back := q.returned.first()
	if back == nil || q.first != nil && q.first.arrival < back.seq {
		return q.first
	}
	return back.item.waiter
}

// append adds a waiter that arrived after all others.
func (q *queue) append(w *waiter) {
	w.prev, w.next = q.last, nil
	if q.last != nil {
		q.last.next = w
	} else {
		q.first = w
	}
	q.last = w
	q.linked++
}

// goAway moves a present waiter to those away. The caller sets its grace.
func (q *queue) goAway(w *waiter) {
	q.removePresent(w)
	q.addAway(w)
}

func (q *queue) addAway(w *waiter) {
	w.prev, w.next = nil, q.firstAway
	if w.next != nil {
		w.next.prev = w
	}
	q.firstAway = w
	q.absent++
}

// comeBack moves a waiter that is away back to its place in line.
func (q *queue) comeBack(w *waiter) {
	q.removeAway(w)
	w.graceEnd = Never
	q.returned.set(returned{w}, unplaced, 0, w.arrival)
}

func (q *queue) remove(w *waiter) {
	if w.away() {
		q.removeAway(w)
	} else {
		q.removePresent(w)
	}
}

func (q *queue) removePresent(w *waiter) {
	if w.line != unplaced {
		q.returned.remove(w.line)
		return
	}
	if q.last == w {
		q.last = w.prev
	}
	w.unlink(&q.first)
	q.linked--
}

func (q *queue) removeAway(w *waiter) {
	w.unlink(&q.firstAway)
	q.absent--
}

func (w *waiter) unlink(first **waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		*first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

// inOrder returns every waiter, present or away, in the order of arrival.
func (q *queue) inOrder() []*waiter {
	all := make([]*waiter, 0, q.size())
	for w := q.first; w != nil; w = w.next {
		all = append(all, w)
	}
	for _, back := range q.returned.heap {
		all = append(all, back.item.waiter)
	}
	for w := q.firstAway; w != nil; w = w.next {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *waiter) int { return cmp.Compare(a.arrival, b.arrival) })
	return all
}
