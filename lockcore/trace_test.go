package lockcore

import (
	"fmt"
	"slices"
)

// trace reads the commands and the effects of a table and nothing else. It
// verifies the invariants of doc.go as somebody outside sees them. It tells
// acquires apart by their owners, so every acquire must come with its own.
type trace struct {
	// open holds the acquires that have not ended.
	open    []*asked
	holders map[string]Effect
	// asking is the acquire, and hangingUp the connection, of this call.
	asking    *asked
	hangingUp Conn
	greatest  uint64
	arrivals  int
	err       error
}

// asked is an acquire as seen from outside.
type asked struct {
	key   string
	owner *Owner
	tag   uint64
	// conns wait for an answer.
	conns []Conn
	// arrival is its place in line, 0 until it is queued.
	arrival int
	end     Kind
}

func newTrace() *trace { return &trace{holders: make(map[string]Effect)} }

func (r *trace) that(ok bool, format string, args ...any) {
	if !ok && r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *trace) acquire(a *Acquire) {
	r.asking = &asked{key: string(a.Key), owner: a.Owner, tag: a.Tag, conns: []Conn{a.Conn}}
	r.open = append(r.open, r.asking)
}

func (r *trace) disconnect(conn Conn) { r.hangingUp = conn }

// moved says that the state went to another table, without the connections.
func (r *trace) moved() {
	r.open = slices.DeleteFunc(r.open, func(a *asked) bool { return !repeatable(a.owner, a.tag) })
	for _, a := range r.open {
		a.conns = nil
	}
}

// done takes the effects of the call and looks at what is left.
func (r *trace) done(effects []Effect) error {
	for i := range effects {
		r.effect(&effects[i])
	}
	for _, a := range r.open {
		a.conns = slices.DeleteFunc(a.conns, func(c Conn) bool { return c == r.hangingUp && a.end == 0 })
		_, held := r.holders[a.key]
		r.that(a.end == 0 || len(a.conns) == 0, "no-leak: %v ended and not all were told", a)
		r.that(a.end != 0 || a.arrival != 0, "no-leak: %v is neither answered nor queued", a)
		r.that(a.end != 0 || held || len(a.conns) == 0, "no-stall: %v waits for a free key", a)
	}
	r.open = slices.DeleteFunc(r.open, func(a *asked) bool { return a.end != 0 })
	r.asking, r.hangingUp = nil, nil
	return r.err
}

// drained says that everything should be over.
func (r *trace) drained() error {
	for _, a := range r.open {
		r.that(false, "no-leak: %v never ended", a)
	}
	for key := range r.holders {
		r.that(false, "no-leak: %s is held for ever", key)
	}
	return r.err
}

func (r *trace) effect(e *Effect) {
	switch e.Kind {
	case Granted:
		r.granted(e)
	case TimedOut:
		r.ends(e)
		r.answers(e)
	case Queued:
		if a := r.about(e); a != nil && a.arrival == 0 {
			r.arrivals++
			a.arrival = r.arrivals
		}
	case Withdrawn:
		if a := r.ends(e); a != nil {
			a.conns = nil
		}
	case Abandoned:
		if a := r.ends(e); a != nil {
			others := slices.ContainsFunc(a.conns, func(c Conn) bool { return c != r.hangingUp })
			r.that(!others, "no-leak: %v was abandoned with somebody to be told", a)
			a.conns = nil
		}
	case Refused:
		if r.asking != nil {
			r.ends(e)
			r.answers(e)
		}
	case Regranted:
		holder := r.holders[string(e.Key)]
		r.that(holder.Token == e.Token, "one-holder: %s was granted again to another", e.Key)
		holder.Owner = e.Owner
		r.holders[string(e.Key)] = holder
		r.ends(e)
		r.answers(e)
	case Released, Expired:
		r.freed(e)
	case Kept, Queried:
		r.that(r.holders[string(e.Key)].Token == e.Token, "one-holder: %s has another token", e.Key)
	}
}

func (r *trace) granted(e *Effect) {
	defer r.answers(e)
	a := r.ends(e)
	if a == nil || e.Echo {
		return
	}
	holder, held := r.holders[a.key]
	r.that(!held, "one-holder: %s was granted while token %d holds it", a.key, holder.Token)
	r.that(e.Token > r.greatest, "token-monotonic: token %d after %d", e.Token, r.greatest)
	r.greatest = e.Token
	r.holders[a.key] = *e
	for _, b := range r.open {
		overtaken := b.key == a.key && b.end == 0 && b.arrival != 0 && len(b.conns) > 0 &&
			(a.arrival == 0 || b.arrival < a.arrival)
		r.that(!overtaken, "fifo: %v was granted before %v", a, b)
	}
}

func (r *trace) freed(e *Effect) {
	holder := r.holders[string(e.Key)]
	r.that(holder.Token == e.Token, "one-holder: token %d ends, but %d holds %s", e.Token, holder.Token, e.Key)
	r.that(holder.Owner == e.Owner && holder.Acquire == e.Acquire, "one-holder: %s ends for another", e.Key)
	delete(r.holders, string(e.Key))
}

// ends notes how an acquire ended, which it may once.
func (r *trace) ends(e *Effect) *asked {
	a := r.about(e)
	if a == nil {
		return nil
	}
	r.that(a.end == 0 || e.Echo && a.end == e.Kind, "no-leak: %v ends a second time, now by %d", a, e.Kind)
	a.end = e.Kind
	return a
}

// answers takes the connection that was told off the list.
func (r *trace) answers(e *Effect) {
	a := r.about(e)
	if a == nil || e.Conn == nil {
		return
	}
	at := slices.Index(a.conns, e.Conn)
	r.that(at >= 0, "no-leak: %v was answered where nobody asked", a)
	if at >= 0 {
		a.conns = slices.Delete(a.conns, at, at+1)
	}
}

// about finds the acquire of an effect; the only refused ones are being asked.
func (r *trace) about(e *Effect) *asked {
	if e.Kind == Refused {
		return r.asking
	}
	for _, a := range r.open {
		if a.owner == e.Owner {
			r.mergeInto(a)
			return a
		}
	}
	r.that(false, "no-leak: effect %d of %s is about an acquire that has ended", e.Kind, e.Key)
	return nil
}

// mergeInto makes one of a repeated acquire and what it repeats.
func (r *trace) mergeInto(a *asked) {
	if a.arrival != 0 || a.end != 0 || !repeatable(a.owner, a.tag) {
		return
	}
	for i, b := range r.open {
		if b == a || b.end != 0 || b.key != a.key || b.tag != a.tag || b.owner.Client != a.owner.Client {
			continue
		}
		a.arrival = b.arrival
		for _, c := range b.conns {
			if !slices.Contains(a.conns, c) {
				a.conns = append(a.conns, c)
			}
		}
		r.open = slices.Delete(r.open, i, i+1)
		return
	}
}

func (a *asked) String() string {
	return fmt.Sprintf("%s's acquire %d of %s (arrival %d, end %d)", a.owner.Addr, a.tag, a.key, a.arrival, a.end)
}
