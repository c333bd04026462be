package lockcore

import (
	"cmp"
	"slices"
)

// queue is those who wait for one key. The present ones are linked in the order
// they arrived; those away are kept apart, so that passing them over costs
// nothing however many they are.
type queue struct {
	first, last *waiter
	present     int

	firstAway *waiter
	absent    int
}

func (q *queue) size() int { return q.present + q.absent }

// append adds a waiter that arrived after all others.
func (q *queue) append(w *waiter) { q.insertAfter(q.last, w) }

// insertAfter links w behind prev, or first for nil.
func (q *queue) insertAfter(prev, w *waiter) {
	next := q.first
	if prev != nil {
		next = prev.next
		prev.next = w
	} else {
		q.first = w
	}
	if next != nil {
		next.prev = w
	} else {
		q.last = w
	}
	w.prev, w.next = prev, next
	q.present++
}

// goAway moves a present waiter to those away. The caller sets its grace.
func (q *queue) goAway(w *waiter) {
	q.unlinkPresent(w)
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

// comeBack moves a waiter that is away back to its place in line. It looks from
// the front: who was away is among the oldest.
func (q *queue) comeBack(w *waiter) {
	q.unlinkAway(w)
	w.graceEnd = Never
	var prev *waiter
	for next := q.first; next != nil && next.arrival < w.arrival; next = next.next {
		prev = next
	}
	q.insertAfter(prev, w)
}

// each calls f for every waiter, present or away, in the order of arrival.
func (q *queue) each(f func(*waiter)) {
	away := make([]*waiter, 0, q.absent)
	for w := q.firstAway; w != nil; w = w.next {
		away = append(away, w)
	}
	slices.SortFunc(away, func(a, b *waiter) int { return cmp.Compare(a.arrival, b.arrival) })
	for w := q.first; w != nil; w = w.next {
		for len(away) > 0 && away[0].arrival < w.arrival {
			f(away[0])
			away = away[1:]
		}
		f(w)
	}
	for _, w := range away {
		f(w)
	}
}

func (q *queue) remove(w *waiter) {
	if w.away() {
		q.unlinkAway(w)
	} else {
		q.unlinkPresent(w)
	}
}

func (q *queue) unlinkPresent(w *waiter) {
	if q.last == w {
		q.last = w.prev
	}
	w.unlink(&q.first)
	q.present--
}

func (q *queue) unlinkAway(w *waiter) {
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
