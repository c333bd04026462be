package load

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// laneBuffer holds all replies that can be under way to one lane.
const laneBuffer = 64 << 10

// LaneConfig says how a lane asks.
type LaneConfig struct {
	// Number is part of the lane's keys, from 0 to MaxLanes-1: lanes of different
	// numbers want different keys, lanes of the same number the same ones.
	Number int
	// Slots is how many requests are in flight, from 1 to MaxSlots.
	Slots int
	// Prefix is what all keys start with, up to 1,000 bytes.
	Prefix string
	// Lease is that of every acquire, at least a millisecond. The wait has no limit.
	Lease time.Duration
	// ReadGrant, if set, judges what stands between the op and the key in the
	// answer to an acquire, and returns the token to release. It is for servers
	// that only seem to grant locks. It must not keep text.
	ReadGrant func(text []byte) (token []byte, ok bool)
}

// Lane is one connection of a load with its slots. One goroutine runs it;
// nothing it does in its loop allocates.
type Lane struct {
	conn      net.Conn
	readGrant func(text []byte) (token []byte, ok bool)
	slots     []Slot
	waiting   int   // slots whose request is not answered
	refused   error // the first refusal; nothing is acquired after it
	last      token // of the last grant

	acquireHead []byte // an acquire up to its key
	out         []byte
	in          []byte
	unread      int // in[:unread] is the start of a line not yet complete

	now     time.Duration // since epoch, when the last bytes came
	units   atomic.Int64
	latency Histogram
}

var epoch = time.Now()

func sinceEpoch() time.Duration { return time.Since(epoch) }

// NewLane makes a lane of a connection that nobody has used yet. Who made the
// connection closes it.
func NewLane(conn net.Conn, c LaneConfig) (*Lane, error) {
	if c.Number < 0 || c.Number >= MaxLanes {
		return nil, fmt.Errorf("lane %d: the number may be 0 to %d", c.Number, MaxLanes-1)
	}
	if c.Slots < 1 || c.Slots > MaxSlots {
		return nil, fmt.Errorf("lane %d: it may have 1 to %d slots, not %d", c.Number, MaxSlots, c.Slots)
	}
	l := &Lane{
		conn:        conn,
		readGrant:   c.ReadGrant,
		slots:       make([]Slot, c.Slots),
		acquireHead: acquireHead(c.Lease),
		out:         make([]byte, 0, laneBuffer),
		in:          make([]byte, laneBuffer),
	}
	for i := range l.slots {
		l.slots[i] = Slot{index: i, key: newKey(c.Prefix, c.Number, i)}
	}
	return l, nil
}

func acquireHead(lease time.Duration) []byte {
	line := wire.AppendRequest(nil, &wire.Request{Op: wire.OpAcquire, Lease: lease, Wait: wire.Forever})
	return bytes.TrimSuffix(line, []byte("\n"))
}

// Conn returns the lane's connection, for its deadline.
func (l *Lane) Conn() net.Conn { return l.conn }

// Slots returns how many slots the lane has.
func (l *Lane) Slots() int { return len(l.slots) }

// Count counts a unit of what the plan does.
func (l *Lane) Count() { l.units.Add(1) }

// Units returns what was counted since Run began. Several goroutines may call it.
func (l *Lane) Units() int64 { return l.units.Load() }

// Latency returns the latencies of single requests since Run began. It may be
// read when Run has returned.
func (l *Lane) Latency() *Histogram { return &l.latency }

// Run carries a plan out until no slot has anything more to send. It fails at a
// wrong answer and at a broken connection at once; after a refusal (RefusedError,
// MovedError) the slots give back what they have, and then it fails. A lane that
// failed is of no more use.
func (l *Lane) Run(p Plan) error {
	l.units.Store(0)
	l.latency = Histogram{}
	err := l.carryOut(p)
	if l.refused != nil {
		return l.refused
	}
	return err
}

func (l *Lane) carryOut(p Plan) error {
	l.now = sinceEpoch()
	for i := range l.slots {
		l.slots[i].answered = resting
		if err := p.Next(l, &l.slots[i]); err != nil {
			return err
		}
	}
	for l.waiting > 0 {
		if err := l.flush(); err != nil {
			return err
		}
		if err := l.receive(p); err != nil {
			return err
		}
	}
	return nil
}

// Acquire sends an acquire of the slot's key; nothing, if the server has refused
// something.
func (l *Lane) Acquire(s *Slot) {
	if l.refused != nil {
		return
	}
	l.out = append(l.out, l.acquireHead...)
	l.request(s, wire.OpAcquire)
}

// Release gives the slot's key back with its token.
func (l *Lane) Release(s *Slot) {
	l.out = append(l.out, "R "...)
	l.out = append(l.out, s.Token()...)
	l.out = append(l.out, ' ')
	l.request(s, wire.OpRelease)
}

// request ends a line with the slot's key.
func (l *Lane) request(s *Slot, op wire.Op) {
	l.out = append(l.out, s.key...)
	l.out = append(l.out, '\n')
	s.sent, s.awaits = l.now, op
	l.waiting++
}

func (l *Lane) flush() error {
	if len(l.out) == 0 {
		return nil
	}
	_, err := l.conn.Write(l.out)
	l.out = l.out[:0]
	if err != nil {
		return fmt.Errorf("sending requests: %w", err)
	}
	return nil
}

// receive takes the answers of one read and lets the plan go on.
func (l *Lane) receive(p Plan) error {
	n, err := l.conn.Read(l.in[l.unread:])
	if err != nil {
		return fmt.Errorf("reading replies, with %d outstanding: %w", l.waiting, err)
	}
	l.now = sinceEpoch()
	rest := l.in[:l.unread+n]
	for {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		if err := l.take(rest[:end], p); err != nil {
			return err
		}
		rest = rest[end+1:]
	}
	l.unread = copy(l.in, rest)
	if l.unread == len(l.in) {
		return fmt.Errorf("reading replies: %w", io.ErrShortBuffer)
	}
	return nil
}
