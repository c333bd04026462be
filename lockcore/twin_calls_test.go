package lockcore

import (
	"cmp"
	"slices"
	"time"
)

func (w *twin) acquire(now Instant, a *Acquire) []Effect {
	w.tick(now)
	key := string(a.Key)
	holder, same := w.holder(key), w.same(key, a.Owner, a.Tag)
	waiting, _ := w.waiting(key)
	refused := Effect{Kind: Refused, Op: OpAcquire, Conn: a.Conn, Tag: a.Tag, Acquire: a.Tag, Key: a.Key}
	switch {
	case same != nil && same.waits():
		w.waitAnew(now, same, a)
	case same != nil:
		w.grantAnew(now, same, a)
	case holder == nil && waiting == 0 && w.keys() >= w.maxKeys:
		refused.Refusal = TooManyKeys
		w.say(refused)
	case holder == nil:
		w.grant(now, w.enter(now, a))
	case a.Wait == 0:
		w.timeOut(w.enter(now, a))
	case waiting >= w.limits.MaxWaiters:
		refused.Refusal = TooManyWaiters
		w.say(refused)
	default:
		w.queue(now, w.enter(now, a), a)
	}
	return w.out
}

func (w *twin) enter(now Instant, a *Acquire) *twinAcquire {
	entered := &twinAcquire{key: string(a.Key), owner: a.Owner, tag: a.Tag, lease: a.Lease, since: now}
	w.ask(entered, a.Conn)
	w.all = append(w.all, entered)
	return entered
}

func (w *twin) queue(now Instant, waiter *twinAcquire, a *Acquire) {
	waiter.lease = a.Lease
	w.setDeadline(waiter, after(now, a.Wait))
	w.say(Effect{Kind: Queued, Owner: waiter.owner, Acquire: a.Tag, Key: a.Key, Lease: a.Lease, Wait: a.Wait})
}

func (w *twin) waitAnew(now Instant, waiter *twinAcquire, a *Acquire) {
	w.ask(waiter, a.Conn)
	waiter.owner = a.Owner
	switch {
	case w.holder(waiter.key) == nil:
		waiter.lease = a.Lease
		w.grant(now, waiter)
	case a.Wait == 0:
		w.timeOut(waiter)
	default:
		w.queue(now, waiter, a)
	}
}

func (w *twin) grantAnew(now Instant, holder *twinAcquire, a *Acquire) {
	holder.owner = a.Owner
	if end := after(now, a.Lease); end > holder.end {
		holder.lease = a.Lease
		w.setDeadline(holder, end)
	}
	w.say(Effect{
		Kind: Regranted, Conn: a.Conn, Tag: a.Tag, Owner: a.Owner, Acquire: a.Tag,
		Key: a.Key, Token: holder.token, Lease: left(now, holder.end),
	})
}

// owned finds the holder by its token, or says why that is not possible.
func (w *twin) owned(op Op, conn Conn, tag, token uint64, key []byte) *twinAcquire {
	refused := Effect{Kind: Refused, Op: op, Conn: conn, Tag: tag, Key: key, Token: token}
	holder := w.holder(string(key))
	switch {
	case holder == nil:
		refused.Refusal = NotHeld
	case holder.token != token:
		refused.Refusal = Taken
	default:
		return holder
	}
	w.say(refused)
	return nil
}

func (w *twin) release(now Instant, r *Release) []Effect {
	w.tick(now)
	if holder := w.owned(OpRelease, r.Conn, r.Tag, r.Token, r.Key); holder != nil {
		w.giveBack(now, holder, r.Conn, r.Tag)
	}
	return w.out
}

func (w *twin) giveBack(now Instant, holder *twinAcquire, conn Conn, tag uint64) {
	w.say(Effect{
		Kind: Released, Conn: conn, Tag: tag, Owner: holder.owner, Acquire: holder.tag,
		Key: []byte(holder.key), Token: holder.token,
	})
	w.drop(holder)
	w.pass(now, holder.key)
}

func (w *twin) keep(now Instant, k *Keep) []Effect {
	w.tick(now)
	if holder := w.owned(OpKeep, k.Conn, k.Tag, k.Token, k.Key); holder != nil {
		holder.lease = k.Lease
		w.setDeadline(holder, after(now, k.Lease))
		w.say(Effect{Kind: Kept, Conn: k.Conn, Tag: k.Tag, Key: k.Key, Token: k.Token, Lease: k.Lease})
	}
	return w.out
}

func (w *twin) cancel(now Instant, c *Cancel) []Effect {
	w.tick(now)
	switch same := w.same(string(c.Key), c.Owner, c.Target); {
	case same == nil:
	case same.waits():
		w.say(Effect{Kind: Withdrawn, Owner: same.owner, Acquire: c.Target, Key: c.Key})
		w.drop(same)
	default:
		w.giveBack(now, same, nil, 0)
	}
	w.say(Effect{Kind: Cancelled, Conn: c.Conn, Tag: c.Tag, Owner: c.Owner, Acquire: c.Target, Key: c.Key})
	return w.out
}

func (w *twin) query(now Instant, q *Query) []Effect {
	w.tick(now)
	e := Effect{Kind: Queried, Conn: q.Conn, Tag: q.Tag, Key: q.Key}
	e.Waiters, _ = w.waiting(string(q.Key))
	if holder := w.holder(string(q.Key)); holder != nil {
		e.Token, e.Lease = holder.token, left(now, holder.end)
	}
	w.say(e)
	return w.out
}

func (w *twin) disconnect(now Instant, conn Conn) []Effect {
	w.tick(now)
	for {
		a, i := w.lastAsk(conn)
		if a == nil {
			return w.out
		}
		a.asks = slices.Delete(a.asks, i, i+1)
		if len(a.asks) > 0 {
			continue
		}
		if a.owner.Client == "" || a.tag == 0 || w.limits.Grace <= 0 {
			w.say(Effect{Kind: Abandoned, Owner: a.owner, Acquire: a.tag, Key: []byte(a.key)})
			w.drop(a)
			continue
		}
		w.setGrace(now, a)
	}
}

// setGrace puts an acquire on the clock again: every grace ends some day.
func (w *twin) setGrace(now Instant, a *twinAcquire) {
	w.setDeadline(a, a.end)
	a.graceEnd = min(after(now, w.limits.Grace), Never-1)
}

// lastAsk finds what was asked last of all that is asked on a connection.
func (w *twin) lastAsk(conn Conn) (last *twinAcquire, at int) {
	number := 0
	for _, a := range w.all {
		for i, asked := range a.asks {
			if asked.conn == conn && asked.number > number {
				last, at, number = a, i, asked.number
			}
		}
	}
	return last, at
}

// snapshot lists everything by key, the holder before those who wait.
func (w *twin) snapshot(now Instant) (held []Held, waiting []Waiting) {
	byKey := slices.Clone(w.all)
	slices.SortStableFunc(byKey, func(a, b *twinAcquire) int { return cmp.Compare(a.key, b.key) })
	for _, a := range byKey {
		age := time.Duration(now - a.since)
		if a.waits() {
			waiting = append(waiting, Waiting{
				Key: []byte(a.key), Owner: a.owner, Tag: a.tag, Lease: a.lease,
				Left: left(now, a.end), Age: age, Away: a.away(),
			})
		} else {
			held = append(held, Held{
				Key: []byte(a.key), Token: a.token, Owner: a.owner, Tag: a.tag, Lease: a.lease,
				Left: left(now, a.end), Age: age,
			})
		}
	}
	return held, waiting
}

// moveTo carries the twin over to a clock that shows then at the instant now:
// nobody can be told any more, so those who cannot come back are gone.
func (w *twin) moveTo(now, then Instant) {
	held, waiting := w.snapshot(now)
	w.all = nil
	for _, h := range held {
		a := &twinAcquire{
			key: string(h.Key), owner: h.Owner, tag: h.Tag, lease: h.Lease, token: h.Token,
			since: then - Instant(h.Age),
		}
		w.setDeadline(a, after(then, h.Left))
		w.all = append(w.all, a)
	}
	for _, v := range waiting {
		if v.Owner.Client == "" || v.Tag == 0 {
			continue
		}
		a := &twinAcquire{
			key: string(v.Key), owner: v.Owner, tag: v.Tag, lease: v.Lease, since: then - Instant(v.Age),
			end: after(then, v.Left),
		}
		w.setGrace(then, a)
		w.all = append(w.all, a)
	}
}
