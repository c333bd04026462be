package replication

import (
	"sync"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// outbox holds the replies of one connection in the order decided, until they
// are written. Nobody who adds to it ever waits for the connection.
//
// Whoever finds it non-empty and unscheduled sees to a flush; so replies never
// lie in it without somebody on the way to write them.
type outbox struct {
	mu        sync.Mutex
	buf       []byte
	scheduled bool
	closed    bool

	// writing is full while bytes go out, so that they go out in order. It is a
	// channel because a write may last: a test in virtual time cannot pass the
	// time while somebody waits for a mutex. spare is the buffer not in use; it
	// belongs to whoever filled writing.
	writing chan struct{}
	spare   []byte
}

// maxKeptBuffer is the size above which a buffer is given back once it is
// empty: an idle connection should cost little.
const maxKeptBuffer = 16 << 10

// add appends a reply. flush reports that the caller has to see to a flush,
// full that more waits now than limit bytes.
func (o *outbox) add(r *wire.Reply, limit int) (flush, full bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false, false
	}
	o.buf = wire.AppendReply(o.buf, r)
	return o.added(limit)
}

// addLine appends a reply that is spelled already, without its end; the rest is
// as for add.
func (o *outbox) addLine(line []byte, limit int) (flush, full bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false, false
	}
	o.buf = append(append(o.buf, line...), '\n')
	return o.added(limit)
}

// added tells what follows from an addition.
func (o *outbox) added(limit int) (flush, full bool) {
	flush = !o.scheduled
	o.scheduled = true
	return flush, len(o.buf) > limit
}

// take swaps the buffers and returns what is to be written; nothing once the
// outbox is empty or closed. Only for the holder of writing.
func (o *outbox) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buf) == 0 || o.closed {
		o.scheduled = false
		return nil
	}
	out := o.buf
	o.buf, o.spare = o.spare[:0], out
	if cap(out) > maxKeptBuffer {
		o.spare = nil
	}
	return out
}

// close drops what was not written and refuses what comes. It returns once
// nobody writes any more; the caller has made writing fail.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed, o.buf = true, nil
	o.mu.Unlock()
	o.writing <- struct{}{}
	o.spare = nil
	<-o.writing
}
