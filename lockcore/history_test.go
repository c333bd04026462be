package lockcore

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// chooser makes the choices of a history: by chance, or as a fuzzer wants.
type chooser interface{ IntN(n int) int }

// history drives a table and its twin through the same calls and compares all
// they say. Everything in it is scarce, so that things meet.
type history struct {
	choose chooser
	// log prints steps if it is set.
	log func(format string, args ...any)

	now    Instant
	tokens *counter
	quota  *bound
	table  *Table
	twin   *twin
	trace  *trace
	lines  [6]*line
	// key is the buffer of every call's key: the table must not hold on to it.
	key     []byte
	owners  int
	dialled int
}

var (
	allKeys    = []string{"a", "b", "b/c"}
	someKeys   = []string{"a", "a", "b", "b/c"}
	someLeases = []time.Duration{1, 2, 3, 5, 8, 12, 20, Forever - 2, Forever}
	someWaits  = []time.Duration{0, 0, 1, 2, 3, 5, 8, 12, 20, 30, Forever - 2, Forever, Forever}
	someGraces = []time.Duration{0, 2, 4, 6, Forever}
	someCounts = []int{0, 1, 3, 8, 8, 8, 8, 8, 8}
	someSteps  = []Instant{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2}
)

func newHistory(choose chooser) *history {
	h := &history{choose: choose, tokens: &counter{}, trace: newTrace()}
	h.quota = &bound{max: pick(choose, []int{1, 2, 3, 3, 3, 3})}
	limits := h.someLimits()
	h.table = NewTable(h.tokens, h.quota, limits)
	h.twin = &twin{limits: limits, maxKeys: h.quota.max}
	for i := range h.lines {
		h.redial(i)
	}
	return h
}

// redial makes connection i anew: of one of three clients, or nobody's.
func (h *history) redial(i int) {
	h.dialled++
	h.lines[i] = dial([]string{"ann", "ann", "bob", "bob", "cat", ""}[i], fmt.Sprintf("line%d.%d", i, h.dialled))
}

func (h *history) run(steps int) error {
	for range steps {
		if err := h.step(); err != nil {
			return err
		}
	}
	return h.drain()
}

func (h *history) step() error {
	h.advance()
	switch p := h.choose.IntN(100); {
	case p < 52:
		return h.acquire()
	case p < 64:
		return h.release()
	case p < 68:
		return h.keep()
	case p < 75:
		return h.cancel()
	case p < 79:
		return h.query()
	case p < 91:
		return h.disconnect(h.choose.IntN(len(h.lines)))
	case p < 96:
		h.logf("tick")
		return h.compare(h.table.Tick(h.now), h.twin.tick(h.now))
	case p < 98:
		return h.changeLimits()
	default:
		return h.move()
	}
}

// advance lets time pass, often to the very instant at which something is due.
func (h *history) advance() {
	if due := h.table.Due(); h.choose.IntN(8) == 0 && due < h.now+10 {
		h.now = max(h.now, due)
		return
	}
	h.now += pick(h.choose, someSteps)
}

func pick[T any](choose chooser, from []T) T { return from[choose.IntN(len(from))] }

func (h *history) someLine() *line { return pick(h.choose, h.lines[:]) }
func (h *history) someTag() uint64 { return pick(h.choose, []uint64{0, 1, 1, 2, 3}) }

func (h *history) someKey() []byte {
	h.key = append(h.key[:0], pick(h.choose, someKeys)...)
	return h.key
}

// somebody chooses whose acquire of which key it is about: now and then one
// that waits or holds, seen from any connection of its client.
func (h *history) somebody() (*line, uint64, []byte) {
	known := h.someKnown()
	if known == nil || h.choose.IntN(3) > 0 {
		return h.someLine(), h.someTag(), h.someKey()
	}
	h.key = append(h.key[:0], known.key...)
	of := slices.IndexFunc(h.lines[:], func(l *line) bool { return l.owner.Client == known.owner.Client })
	return h.lines[min(of+h.choose.IntN(2), 4)], known.tag, h.key
}

func (h *history) someKnown() *twinAcquire {
	named := slices.DeleteFunc(slices.Clone(h.twin.all), func(a *twinAcquire) bool {
		return !repeatable(a.owner, a.tag)
	})
	if len(named) == 0 {
		return nil
	}
	return pick(h.choose, named)
}

func (h *history) someLimits() Limits {
	return Limits{MaxWaiters: pick(h.choose, someCounts), Grace: pick(h.choose, someGraces)}
}

// someToken is mostly the right one.
func (h *history) someToken(key []byte) uint64 {
	holder := h.twin.holder(string(key))
	if holder != nil && h.choose.IntN(4) > 0 {
		return holder.token
	}
	return uint64(h.choose.IntN(int(min(h.tokens.last, 200)) + 2))
}

func (h *history) acquire() error {
	l, tag, key := h.somebody()
	h.owners++
	a := &Acquire{
		Conn: l, Owner: &Owner{Client: l.owner.Client, Addr: l.name + "." + strconv.Itoa(h.owners)}, Tag: tag,
		Lease: pick(h.choose, someLeases), Wait: pick(h.choose, someWaits), Key: key,
	}
	h.logf("%s acquires %s tag %d lease %d wait %d", l.name, a.Key, a.Tag, a.Lease, a.Wait)
	h.trace.acquire(a)
	return h.compare(h.table.Acquire(h.now, a), h.twin.acquire(h.now, a))
}

func (h *history) release() error {
	l, key := h.someLine(), h.someKey()
	r := &Release{Conn: l, Tag: h.someTag(), Token: h.someToken(key), Key: key}
	h.logf("%s releases %s token %d", l.name, r.Key, r.Token)
	return h.compare(h.table.Release(h.now, r), h.twin.release(h.now, r))
}

func (h *history) keep() error {
	l, key := h.someLine(), h.someKey()
	k := &Keep{Conn: l, Tag: h.someTag(), Token: h.someToken(key), Lease: pick(h.choose, someLeases), Key: key}
	h.logf("%s keeps %s token %d lease %d", l.name, k.Key, k.Token, k.Lease)
	return h.compare(h.table.Keep(h.now, k), h.twin.keep(h.now, k))
}

func (h *history) cancel() error {
	l, target, key := h.somebody()
	c := &Cancel{Conn: l, Owner: l.owner, Tag: h.someTag(), Target: target, Key: key}
	h.logf("%s cancels %s acquire %d", l.name, c.Key, c.Target)
	return h.compare(h.table.Cancel(h.now, c), h.twin.cancel(h.now, c))
}

func (h *history) query() error {
	q := &Query{Conn: h.someLine(), Tag: h.someTag(), Key: h.someKey()}
	h.logf("query of %s", q.Key)
	return h.compare(h.table.Query(h.now, q), h.twin.query(h.now, q))
}

func (h *history) disconnect(i int) error {
	l := h.lines[i]
	h.logf("%s disconnects", l.name)
	h.trace.disconnect(l)
	h.redial(i)
	return h.compare(h.table.Disconnect(h.now, l), h.twin.disconnect(h.now, l))
}

func (h *history) changeLimits() error {
	limits := h.someLimits()
	h.logf("limits %+v", limits)
	h.table.SetLimits(limits)
	h.twin.limits = limits
	return h.compare(nil, nil)
}

// compare ends a step: no invariant is broken, and the table did what its twin
// did.
func (h *history) compare(got, want []Effect) error {
	h.logEffects(got)
	if err := h.trace.done(got); err != nil {
		return fmt.Errorf("%w\n after %s", err, listed(got))
	}
	if err := h.table.Check(); err != nil {
		return fmt.Errorf("%w\n after %s", err, listed(got))
	}
	if !slices.EqualFunc(got, want, sameEffect) {
		return fmt.Errorf("twin: at %d\n got %s\nwant %s", h.now, listed(got), listed(want))
	}
	if h.quota.used != h.twin.keys() {
		return fmt.Errorf("no-leak: %d keys counted, %d in use", h.quota.used, h.twin.keys())
	}
	for _, l := range h.lines {
		if last, _ := h.twin.lastAsk(l); h.table.Waits(l) != (last != nil) {
			return fmt.Errorf("twin: whether %s waits for an answer", l.name)
		}
	}
	if h.table.Due() != h.twin.due() {
		return fmt.Errorf("twin: due at %d, want %d", h.table.Due(), h.twin.due())
	}
	return nil
}

func sameEffect(a, b Effect) bool {
	return bytes.Equal(a.Key, b.Key) &&
		a.Kind == b.Kind && a.Refusal == b.Refusal && a.Op == b.Op && a.Echo == b.Echo && a.Conn == b.Conn &&
		a.Owner == b.Owner && a.Tag == b.Tag && a.Acquire == b.Acquire && a.Token == b.Token &&
		a.Lease == b.Lease && a.Wait == b.Wait && a.Waiters == b.Waiters
}

// move takes a snapshot and goes on with a fresh table and another clock.
func (h *history) move() error {
	h.logf("the table moves")
	held, waiting := sortedSnapshot(h.table, h.now)
	wantHeld, wantWaiting := h.twin.snapshot(h.now)
	if !slices.EqualFunc(held, wantHeld, sameHeld) || !slices.EqualFunc(waiting, wantWaiting, sameWaiting) {
		return fmt.Errorf("twin: at %d a snapshot of\n     %+v %+v\nwant %+v %+v", h.now, held, waiting, wantHeld, wantWaiting)
	}
	then := Instant(h.choose.IntN(20))
	h.quota = &bound{max: h.quota.max}
	h.table = NewTable(h.tokens, h.quota, h.twin.limits)
	h.twin.moveTo(h.now, then)
	h.trace.moved()
	h.now = then
	if err := restore(h.table, then, held, waiting); err != nil {
		return err
	}
	return h.compare(nil, nil)
}

// sortedSnapshot takes a snapshot in an order that is the same every time.
func sortedSnapshot(t *Table, now Instant) (held []Held, waiting []Waiting) {
	t.Snapshot(now,
		func(h *Held) { held = append(held, *h) },
		func(w *Waiting) { waiting = append(waiting, *w) })
	slices.SortFunc(held, func(a, b Held) int { return bytes.Compare(a.Key, b.Key) })
	slices.SortStableFunc(waiting, func(a, b Waiting) int { return bytes.Compare(a.Key, b.Key) })
	return held, waiting
}

func restore(t *Table, now Instant, held []Held, waiting []Waiting) error {
	var errs []error
	for i := range held {
		errs = append(errs, t.RestoreHeld(now, &held[i]))
	}
	for i := range waiting {
		if waiting[i].Survives() {
			errs = append(errs, t.RestoreWaiting(now, &waiting[i]))
		}
	}
	return cmp.Or(errs...)
}

func sameHeld(a, b Held) bool {
	return bytes.Equal(a.Key, b.Key) && a.Token == b.Token && a.Owner == b.Owner && a.Tag == b.Tag &&
		a.Lease == b.Lease && a.Left == b.Left && a.Age == b.Age
}

func sameWaiting(a, b Waiting) bool {
	return bytes.Equal(a.Key, b.Key) && a.Owner == b.Owner && a.Tag == b.Tag &&
		a.Lease == b.Lease && a.Left == b.Left && a.Age == b.Age && a.Away == b.Away
}

// drain hangs up, releases what is held, and waits until every grace is over:
// nothing may be left.
func (h *history) drain() error {
	h.table.SetLimits(Limits{MaxWaiters: 1, Grace: 1})
	h.twin.limits.Grace = 1
	for i := range h.lines {
		if err := h.disconnect(i); err != nil {
			return err
		}
	}
	for _, key := range allKeys {
		if holder := h.twin.holder(key); holder != nil {
			r := h.lines[0].release(key, holder.token)
			if err := h.compare(h.table.Release(h.now, r), h.twin.release(h.now, r)); err != nil {
				return err
			}
		}
	}
	h.now = Never - 1
	h.logf("the end")
	if err := h.compare(h.table.Tick(h.now), h.twin.tick(h.now)); err != nil {
		return err
	}
	if len(h.table.acquires.m)+len(h.table.asks.m) > 0 || h.table.locks.count > len(allKeys) {
		return fmt.Errorf("no-leak: the table is not empty: %+v", h.table)
	}
	return h.trace.drained()
}
