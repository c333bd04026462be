package replication

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/caddylock/caddylock/lockcore"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// A state file is what a node that was stopped leaves to its next start:
//
//	magic | generation | written (ms since the epoch) | records … | end | SHA-256 of all before
//
// Numbers are varints, texts have their length before them. A record is one
// held lock or one waiting acquire.
const stateMagic = "caddylock state 1\n"

const (
	recordEnd     = 0
	recordHeld    = 1
	recordWaiting = 2
)

// errBadState is about a file that is not one of these, or not whole.
var errBadState = errors.New("not a whole state file of this version")

// state is a state file in memory.
type state struct {
	generation uint64
	written    time.Time
	held       []lockcore.Held
	waiting    []lockcore.Waiting
}

// stateWriter encodes a state, record by record.
type stateWriter struct {
	buf []byte
	// locks and waiters count the records.
	locks, waiters int
}

func newStateWriter(generation uint64, now time.Time) *stateWriter {
	w := &stateWriter{buf: []byte(stateMagic)}
	w.uint(generation)
	w.uint(uint64(max(0, now.UnixMilli())))
	return w
}

func (w *stateWriter) uint(v uint64) { w.buf = binary.AppendUvarint(w.buf, v) }

func (w *stateWriter) bytes(b []byte) {
	w.uint(uint64(len(b)))
	w.buf = append(w.buf, b...)
}

func (w *stateWriter) duration(d time.Duration) { w.uint(uint64(max(0, d))) }

func (w *stateWriter) acquire(key []byte, owner *lockcore.Owner, tag uint64) {
	w.bytes(key)
	w.bytes([]byte(owner.Client))
	w.bytes([]byte(owner.Addr))
	w.uint(tag)
}

func (w *stateWriter) heldLock(h *lockcore.Held) {
	w.locks++
	w.buf = append(w.buf, recordHeld)
	w.acquire(h.Key, h.Owner, h.Tag)
	w.uint(h.Token)
	w.duration(h.Lease)
	w.duration(h.Left)
	w.duration(h.Age)
}

// waitingAcquire leaves out what ends with its connection.
func (w *stateWriter) waitingAcquire(a *lockcore.Waiting) {
	if !a.Survives() {
		return
	}
	w.waiters++
	w.buf = append(w.buf, recordWaiting)
	w.acquire(a.Key, a.Owner, a.Tag)
	w.duration(a.Lease)
	w.duration(a.Left)
	w.duration(a.Age)
}

// finish returns the file.
func (w *stateWriter) finish() []byte {
	w.buf = append(w.buf, recordEnd)
	sum := sha256.Sum256(w.buf)
	return append(w.buf, sum[:]...)
}

// decodeState reads a state file; all of it or nothing.
func decodeState(file []byte) (*state, error) {
	body, sum := file, []byte(nil)
	if len(file) >= len(stateMagic)+sha256.Size {
		body, sum = file[:len(file)-sha256.Size], file[len(file)-sha256.Size:]
	}
	if !bytes.HasPrefix(body, []byte(stateMagic)) {
		return nil, errBadState
	}
	if actual := sha256.Sum256(body); !bytes.Equal(actual[:], sum) {
		return nil, fmt.Errorf("%w: its checksum does not match", errBadState)
	}
	r := &stateReader{rest: body[len(stateMagic):], owners: make(map[lockcore.Owner]*lockcore.Owner)}
	s := &state{generation: r.uint(math.MaxUint64)}
	s.written = time.UnixMilli(int64(r.uint(math.MaxInt64)))
	for r.record(s) {
	}
	if r.err == nil && len(r.rest) > 0 {
		r.fail("bytes after the end")
	}
	return s, r.err
}

// stateReader decodes. After the first error every read returns zero.
type stateReader struct {
	rest []byte
	err  error
	// owners shares what many records have in common.
	owners map[lockcore.Owner]*lockcore.Owner
}

func (r *stateReader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errBadState, what)
	}
	r.rest = nil
}

func (r *stateReader) uint(limit uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > limit {
		r.fail("a number is cut off or out of range")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *stateReader) bytes(limit int) []byte {
	n := int(r.uint(uint64(limit)))
	if n > len(r.rest) {
		r.fail("a text is cut off")
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *stateReader) duration() time.Duration { return time.Duration(r.uint(math.MaxInt64)) }

// maxAddr is the length of the longest address of a client: a Unix socket's
// path or an IPv6 address with its zone and port.
const maxAddr = 512

func (r *stateReader) owner() *lockcore.Owner {
	o := lockcore.Owner{Client: string(r.bytes(wire.MaxClientID)), Addr: string(r.bytes(maxAddr))}
	shared := r.owners[o]
	if shared == nil {
		shared = &o
		r.owners[o] = shared
	}
	return shared
}

// record reads one record; false after the last one.
func (r *stateReader) record(s *state) bool {
	switch kind := r.uint(recordWaiting); {
	case r.err != nil || kind == recordEnd:
		return false
	case kind == recordHeld:
		s.held = append(s.held, lockcore.Held{
			Key: r.bytes(wire.MaxKey), Owner: r.owner(), Tag: r.uint(math.MaxUint64), Token: r.uint(wire.MaxToken),
			Lease: r.duration(), Left: r.duration(), Age: r.duration(),
		})
	default:
		s.waiting = append(s.waiting, lockcore.Waiting{
			Key: r.bytes(wire.MaxKey), Owner: r.owner(), Tag: r.uint(math.MaxUint64),
			Lease: r.duration(), Left: r.duration(), Age: r.duration(),
		})
	}
	return r.err == nil
}

// elapse lets the time go by during which nobody served the state. Leases then
// have the floor of a failover left: their holders could not renew them.
func (s *state) elapse(now time.Time, o *Options) {
	gone := max(0, now.Sub(s.written))
	for i := range s.held {
		h := &s.held[i]
		h.Left = max(h.Left-min(gone, h.Left), o.leaseFloor(h.Lease))
		h.Age = saturatingAdd(h.Age, gone)
	}
	for i := range s.waiting {
		w := &s.waiting[i]
		if w.Left != lockcore.Forever {
			w.Left -= min(gone, w.Left)
		}
		w.Age = saturatingAdd(w.Age, gone)
	}
}

func saturatingAdd(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
