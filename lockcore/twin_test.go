package lockcore

import (
	"math"
	"slices"
	"time"
)

// twin is the table once more, the slow and obvious way: one list of acquires
// in the order they came, and every question answered by reading all of it.
type twin struct {
	limits  Limits
	maxKeys int
	token   uint64
	// sets and asks number the deadlines set and the connections to answer.
	sets, asks int
	// all holds the acquires that wait or hold, nothing else.
	all []*twinAcquire
	out []Effect
}

type twinAcquire struct {
	key   string
	owner *Owner
	tag   uint64
	lease time.Duration
	// token is 0 while it waits.
	token uint64
	// since is when it began to wait, or to hold.
	since Instant
	// end is when its wait, or its lease, is over.
	end Instant
	// graceEnd counts while it is away, which is: waiting with nobody to tell.
	graceEnd Instant
	// set is the number of its deadline among all that were set.
	set  int
	asks []twinAsk
}

type twinAsk struct {
	conn   Conn
	number int
}

func (a *twinAcquire) waits() bool { return a.token == 0 }
func (a *twinAcquire) away() bool  { return a.waits() && len(a.asks) == 0 }

func (a *twinAcquire) deadline() Instant {
	if a.away() && a.graceEnd < a.end {
		return a.graceEnd
	}
	return a.end
}

// after adds without overflowing: what is too far away never comes.
func after(now Instant, d time.Duration) Instant {
	if int64(d) > math.MaxInt64-int64(now) {
		return Never
	}
	return now + Instant(d)
}

func left(now, end Instant) time.Duration {
	if end == Never {
		return Forever
	}
	return max(0, time.Duration(end-now))
}

func (w *twin) say(e Effect) { w.out = append(w.out, e) }

func (w *twin) setDeadline(a *twinAcquire, end Instant) {
	w.sets++
	a.end, a.set = end, w.sets
}

func (w *twin) drop(a *twinAcquire) {
	w.all = slices.DeleteFunc(w.all, func(b *twinAcquire) bool { return a == b })
}

func (w *twin) holder(key string) *twinAcquire {
	for _, a := range w.all {
		if a.key == key && !a.waits() {
			return a
		}
	}
	return nil
}

func (w *twin) waiting(key string) (waiting, present int) {
	for _, a := range w.all {
		if a.key == key && a.waits() {
			waiting++
			if !a.away() {
				present++
			}
		}
	}
	return waiting, present
}

// same finds the acquire that a client means by a tag.
func (w *twin) same(key string, owner *Owner, tag uint64) *twinAcquire {
	for _, a := range w.all {
		if a.key == key && tag != 0 && a.tag == tag && owner.Client != "" && a.owner.Client == owner.Client {
			return a
		}
	}
	return nil
}

// keys counts the keys that somebody holds or waits for.
func (w *twin) keys() int {
	count := 0
	for i, a := range w.all {
		earlier := func(b *twinAcquire) bool { return b.key == a.key }
		if !slices.ContainsFunc(w.all[:i], earlier) {
			count++
		}
	}
	return count
}

func (w *twin) due() Instant {
	at := Never
	for _, a := range w.all {
		at = min(at, a.deadline())
	}
	return at
}

// tick starts every call: what is due ends, the earliest deadline first.
func (w *twin) tick(now Instant) []Effect {
	w.out = nil
	for {
		var next *twinAcquire
		for _, a := range w.all {
			if a.deadline() > now {
				continue
			}
			if next == nil || a.deadline() < next.deadline() || a.deadline() == next.deadline() && a.set < next.set {
				next = a
			}
		}
		if next == nil {
			return w.out
		}
		w.over(now, next)
	}
}

func (w *twin) over(now Instant, a *twinAcquire) {
	e := Effect{Owner: a.owner, Acquire: a.tag, Key: []byte(a.key)}
	switch {
	case !a.waits():
		_, e.Waiters = w.waiting(a.key)
		e.Kind, e.Token = Expired, a.token
		w.say(e)
		w.drop(a)
		w.pass(now, a.key)
	case a.away() && a.graceEnd < a.end:
		e.Kind = Abandoned
		w.say(e)
		w.drop(a)
	default:
		w.timeOut(a)
	}
}

// pass gives a key that has just become free to the first who can be told.
func (w *twin) pass(now Instant, key string) {
	for _, a := range w.all {
		if a.key == key && a.waits() && !a.away() {
			w.grant(now, a)
			return
		}
	}
}

func (w *twin) grant(now Instant, a *twinAcquire) {
	w.token++
	a.token, a.since = w.token, now
	w.setDeadline(a, after(now, a.lease))
	w.answer(a, Effect{
		Kind: Granted, Tag: a.tag, Owner: a.owner, Acquire: a.tag,
		Key: []byte(a.key), Token: a.token, Lease: a.lease,
	})
}

func (w *twin) timeOut(a *twinAcquire) {
	w.answer(a, Effect{Kind: TimedOut, Tag: a.tag, Owner: a.owner, Acquire: a.tag, Key: []byte(a.key)})
	w.drop(a)
}

// answer tells every connection that asked, the one that asked last first.
func (w *twin) answer(a *twinAcquire, e Effect) {
	if len(a.asks) == 0 {
		w.say(e)
	}
	for i := len(a.asks) - 1; i >= 0; i-- {
		e.Conn = a.asks[i].conn
		w.say(e)
		e.Echo = true
	}
	a.asks = nil
}

func (w *twin) ask(a *twinAcquire, conn Conn) {
	for _, asked := range a.asks {
		if asked.conn == conn {
			return
		}
	}
	w.asks++
	a.asks = append(a.asks, twinAsk{conn, w.asks})
}
