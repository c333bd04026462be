package client

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// hintFor is how long calls wait for the connection to the active node that a
	// server just named, before others are asked.
	hintFor = time.Second
	// forgetGeneration is how long after the last sign of the greatest generation
	// seen an older one counts again: its node may be gone for good, and one live
	// node is enough.
	forgetGeneration = 15 * time.Second
)

// routes knows the links and which of their connections to use.
type routes struct {
	client *Client
	// usable are the connections to take turns on; nil if there is none.
	usable atomic.Pointer[[]*conn]

	mu    sync.Mutex
	given []*link
	extra *link // to an address that a server named; or nil
	// target is where the active node is, as far as servers said; or empty.
	target string
	// hintUntil is until when calls wait for a connection to target.
	hintUntil time.Time
	// generation is the greatest seen, generationAt when there was last a sign of it.
	generation   uint64
	generationAt time.Time
	// met is the greatest generation of the nodes that called themselves active;
	// hearsay is where the node of a greater one should be, while it has not been met.
	met     uint64
	hearsay string
	// served is the generation of the last active node there was a connection to.
	served  uint64
	changed chan struct{} // closed at the next change
	// open are the connections that are not closed, also those that others replace.
	open  map[*conn]struct{}
	notes []func() // to be logged when the mutex is free
}

// next returns the connection whose turn it is, but not avoid if there is another;
// nil if there is none.
func (r *routes) next(turn uint64, avoid *conn) *conn {
	usable := r.usable.Load()
	if usable == nil {
		return nil
	}
	n := (*usable)[turn%uint64(len(*usable))]
	if n == avoid {
		n = (*usable)[(turn+1)%uint64(len(*usable))]
	}
	return n
}

// note has unlock log a line: whoever takes it in may use the client.
func (r *routes) note(level slog.Level, text string, args ...any) {
	log := r.client.o.log
	r.notes = append(r.notes, func() { log.Log(context.Background(), level, text, args...) })
}

// unlock ends what began with the mutex and may have made notes.
func (r *routes) unlock() {
	notes := r.notes
	r.notes = nil
	r.mu.Unlock()
	for _, log := range notes {
		log()
	}
}

// links returns all links.
func (r *routes) links() []*link {
	if r.extra == nil {
		return r.given
	}
	return append(r.given[:len(r.given):len(r.given)], r.extra)
}

// refresh works out anew which connections are usable.
func (r *routes) refresh() {
	if best := r.best(); len(best) > 0 {
		r.usable.Store(&best)
	} else {
		r.usable.Store(nil)
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// best returns the connections to the active node; as long as none is known, those
// to where it should be; and after that, all: whichever is active by now answers.
func (r *routes) best() []*conn {
	var active, hinted, rest []*conn
	for _, l := range r.links() {
		switch n := l.conn; {
		case n == nil:
		case n.active && n.generation >= r.generation:
			active = append(active, n)
		case n.active: // another node has the role since
		case l.addr == r.target:
			hinted = append(hinted, n)
		default:
			rest = append(rest, n)
		}
	}
	switch {
	case len(active) > 0:
		return active
	case len(hinted) > 0:
		return hinted
	case time.Now().Before(r.hintUntil):
		return nil
	}
	return rest
}

// up takes in a new connection.
func (r *routes) up(n *conn) {
	c := n.link.client
	r.mu.Lock()
	n.link.conn, n.link.err = n, nil
	r.open[n] = struct{}{}
	n.noAcquires = c.closing.Load()
	var stale []*conn
	if n.active {
		stale = r.learn(n.link.addr, n.generation)
		r.meet(n.generation)
	} else if len(n.news) > 0 && n.news[0].generation >= r.generation {
		stale = r.learn(n.news[0].addr, n.news[0].generation)
		r.hint(n.news[0].addr)
	}
	moved := r.serves(n)
	r.refresh()
	r.unlock()
	c.count.connects.Add(1)
	c.o.log.Debug("connected to a lock server", "addr", n.link.addr, "active", n.active, "generation", n.generation)
	r.leave(stale)
	if moved {
		c.repeatReleases(n)
	}
}

// serves notes that n leads to an active node, and reports whether the role moved
// there from another.
func (r *routes) serves(n *conn) (moved bool) {
	if !n.active || n.generation <= r.served {
		return false
	}
	moved = r.served != 0
	r.served = n.generation
	return moved
}

// lost takes out a connection that is closed.
func (r *routes) lost(n *conn, err error) {
	r.mu.Lock()
	delete(r.open, n)
	l := n.link
	current := l.conn == n
	if current {
		l.conn, l.err, l.failedAt = nil, err, time.Now()
		if l.addr == r.target {
			r.target = ""
		}
		if n.generation == r.generation {
			r.generationAt = time.Now()
		}
		r.refresh()
	}
	r.mu.Unlock()
	if current {
		r.client.o.log.Info("connection to a lock server lost", "addr", l.addr, "error", err)
	}
}

// failed notes that a dial failed.
func (r *routes) failed(l *link, err error) {
	r.mu.Lock()
	defer r.unlock()
	r.client.count.dialFailures.Add(1)
	// The same trouble every few seconds is told once.
	if l.err == nil || l.err.Error() != err.Error() {
		r.note(slog.LevelInfo, "cannot connect to a lock server", "addr", l.addr, "error", err)
	}
	l.err, l.failedAt = err, time.Now()
	if l.addr == r.target {
		r.target, r.hintUntil = "", time.Time{}
	}
	r.doubt(l.addr)
	r.refresh()
}

// hear takes in what a server said beside its answers.
func (r *routes) hear(n *conn, item news) {
	if item.addr == "" {
		r.decides(n)
		return
	}
	r.mu.Lock()
	if item.generation < r.generation {
		r.mu.Unlock()
		return
	}
	stale := r.learn(item.addr, item.generation)
	if item.addr == n.link.addr {
		r.replace(n)
	} else {
		n.retire()
		r.hint(item.addr)
	}
	r.refresh()
	r.unlock()
	// The one that said so sends its answers right behind, but none to those who
	// wait for a key.
	r.leave(without(stale, n))
	if item.addr != n.link.addr {
		n.sendOn()
	}
}

// decides notes that a server answers as only the active one does, though it was
// not when the connection was made.
func (r *routes) decides(n *conn) {
	r.mu.Lock()
	n.active, n.generation = true, r.generation
	moved := r.serves(n)
	r.refresh()
	r.mu.Unlock()
	if moved {
		r.client.repeatReleases(n)
	}
}

// retire notes that the server of n is not active, until it shows otherwise.
func (n *conn) retire() {
	n.active = false
	n.mu.Lock()
	n.decides, n.retiredAt = false, n.orders
	n.mu.Unlock()
}

// redirected notes that a server named the active node in an answer.
func (r *routes) redirected(n *conn, addr string) {
	r.client.count.redirects.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	n.retire()
	n.link.err = fmt.Errorf("not the active node, which it says is %s", addr)
	if addr == n.link.addr {
		r.replace(n)
	} else {
		r.hint(addr)
	}
	r.refresh()
}

// complained notes why a server did not do what it was asked.
func (r *routes) complained(n *conn, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.link.err = err
}

func (r *routes) knowsActive() bool {
	for _, l := range r.links() {
		if l.conn != nil && l.conn.active && l.conn.generation >= r.generation {
			return true
		}
	}
	return false
}

// replace has the link of n make another connection; n goes on only for what it
// still has to answer.
func (r *routes) replace(n *conn) {
	if n.isReplaced {
		return
	}
	n.isReplaced = true
	close(n.replaced)
	if n.link.conn == n {
		n.link.conn = nil
	}
}

// learn notes that the active node of a generation not smaller than those seen is
// at addr. It returns the connections to other nodes on which calls wait: those
// must not wait for a node that decides nothing any more.
func (r *routes) learn(addr string, generation uint64) (stale []*conn) {
	if generation >= r.generation {
		r.generationAt = time.Now()
	}
	if generation <= r.generation {
		return nil
	}
	if r.generation != 0 {
		r.client.count.moves.Add(1)
		r.note(slog.LevelInfo, "the active lock server moved", "addr", addr, "generation", generation)
	}
	r.generation, r.hearsay = generation, addr
	for _, l := range r.links() {
		if n := l.conn; n != nil && l.addr != addr && n.busy() {
			stale = append(stale, n)
		}
	}
	return stale
}

// meet notes that a node called itself active in a generation.
func (r *routes) meet(generation uint64) {
	r.met = max(r.met, generation)
	if r.met >= r.generation {
		r.hearsay = ""
	}
}

// doubt notes that there is no way to addr: if a greater generation should be there
// that was never met, the ones that were count.
func (r *routes) doubt(addr string) {
	if r.hearsay == addr && r.met != 0 {
		r.generation, r.hearsay = r.met, ""
	}
}

var errMoved = fmt.Errorf("the active lock server is another")

func (r *routes) leave(stale []*conn) {
	for _, n := range stale {
		n.close(errMoved)
	}
}

func without(conns []*conn, n *conn) []*conn {
	for i := range conns {
		if conns[i] == n {
			return append(conns[:i], conns[i+1:]...)
		}
	}
	return conns
}

// hint has the calls go to addr, which a server named, as soon as there is a
// connection to it. One that is known to be active counts for more.
func (r *routes) hint(addr string) {
	if r.knowsActive() {
		return
	}
	r.target = addr
	r.hintUntil = time.Time{}
	known := false
	for _, l := range r.links() {
		if l.addr != addr {
			continue
		}
		if l.conn != nil {
			return
		}
		known = true
		l.prompt()
	}
	if !known && !r.addExtra(addr) {
		r.target = ""
		r.doubt(addr)
		return
	}
	r.hintUntil = time.Now().Add(min(hintFor, r.client.o.dialTimeout))
}

// addExtra adds a link to an address that was not given, in place of the last one.
func (r *routes) addExtra(addr string) bool {
	if checkAddr(addr) != nil || r.client.life.Err() != nil {
		return false
	}
	if r.extra != nil {
		r.extra.stop()
	}
	r.extra = r.client.newLink(addr, true)
	return true
}

// dropExtra takes out a link that came to nothing.
func (r *routes) dropExtra(l *link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.extra == l {
		r.extra = nil
		r.refresh()
	}
}

// prompt has a link without a connection dial as soon as it may.
func (l *link) prompt() {
	if l.conn == nil {
		poke(l.poke)
	}
}

// forgetOldGeneration lets an older active node count again if of the newer one
// nothing was seen for a while.
func (r *routes) forgetOldGeneration() {
	if r.knowsActive() || time.Since(r.generationAt) < forgetGeneration {
		return
	}
	var greatest uint64
	for _, l := range r.links() {
		if l.conn != nil && l.conn.active {
			greatest = max(greatest, l.conn.generation)
		}
	}
	if greatest != 0 {
		r.note(slog.LevelWarn, "back to an older active lock server: nothing was seen of the newer one",
			"generation", greatest, "newer", r.generation)
		r.generation, r.met, r.hearsay = greatest, greatest, ""
		r.refresh()
	}
}
