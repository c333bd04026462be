package bench

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"time"
)

// The ops that lanes send.
const (
	resting byte = 0
	acquire byte = 'A'
	release byte = 'R'
)

const (
	// leaseAndWait of every acquire: longer than any benchmark, without limit.
	leaseAndWait = "3600 0"
	// echoToken is the token on an echo's grants: of the length of a real one.
	echoToken = "1928545113132236801"
	// maxToken is the length of the longest token, 2^64-1.
	maxToken = 20
	// laneBuffer holds all replies that can be under way to one lane.
	laneBuffer = 64 << 10
)

// lane is one connection of the load generator with its slots. One goroutine
// runs it; nothing it does in its loop allocates.
type lane struct {
	sock    net.Conn
	echo    bool // the other end is the echo server
	slots   []slot
	waiting int // slots whose request is not answered

	out    []byte
	in     []byte
	unread int // in[:unread] is the start of a line not yet complete

	now     time.Duration // since epoch, when the last bytes came
	units   int           // what the plan counts
	latency histogram     // of single requests
}

// slot is one request in flight, time and again.
type slot struct {
	key      [keyLength]byte
	sent     time.Duration
	awaits   byte // op of the request in flight, or resting
	answered byte // op of the last answer, or resting
	tokenLen int
	tokenBuf [maxToken]byte
}

// token is the token of the slot's last grant.
func (s *slot) token() []byte { return s.tokenBuf[:s.tokenLen] }

func (s *slot) setToken(text []byte) { s.tokenLen = copy(s.tokenBuf[:], text) }

var epoch = time.Now()

func sinceEpoch() time.Duration { return time.Since(epoch) }

// dialLane opens a connection with n slots. Lanes of different numbers have
// different keys.
func dialLane(to *process, number, n int) (*lane, error) {
	if n > maxSlots {
		return nil, fmt.Errorf("a lane has at most %d slots, not %d", maxSlots, n)
	}
	sock, err := net.Dial("tcp", to.addr)
	if err != nil {
		return nil, fmt.Errorf("opening lane %d to the %s: %w", number, to.role, err)
	}
	l := newLane(sock, number, n)
	l.echo = to.role == roleEcho
	return l, nil
}

func newLane(sock net.Conn, number, n int) *lane {
	l := &lane{
		sock:  sock,
		slots: make([]slot, n),
		out:   make([]byte, 0, laneBuffer),
		in:    make([]byte, laneBuffer),
	}
	for i := range l.slots {
		l.slots[i].key = newKey(number, i)
	}
	return l
}

// run carries a plan out until no slot has anything more to send, or an answer
// is wrong.
func (l *lane) run(p plan) error {
	l.now, l.units, l.unread = sinceEpoch(), 0, 0
	l.latency = histogram{}
	for i := range l.slots {
		l.slots[i].answered = resting
		if err := p.next(l, &l.slots[i]); err != nil {
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

func (l *lane) acquire(s *slot) {
	l.out = append(l.out, "A "+leaseAndWait+" "...)
	l.request(s, acquire)
}

// release gives the slot's key back with its token.
func (l *lane) release(s *slot) {
	l.out = append(l.out, "R "...)
	l.out = append(l.out, s.token()...)
	l.out = append(l.out, ' ')
	l.request(s, release)
}

// request ends a line with the slot's key.
func (l *lane) request(s *slot, op byte) {
	l.out = append(l.out, s.key[:]...)
	l.out = append(l.out, '\n')
	s.sent, s.awaits = l.now, op
	l.waiting++
}

func (l *lane) flush() error {
	if len(l.out) == 0 {
		return nil
	}
	_, err := l.sock.Write(l.out)
	l.out = l.out[:0]
	if err != nil {
		return fmt.Errorf("sending requests: %w", err)
	}
	return nil
}

// receive takes the answers of one read and lets the plan go on.
func (l *lane) receive(p plan) error {
	n, err := l.sock.Read(l.in[l.unread:])
	if err != nil {
		return fmt.Errorf("reading replies, %d slots waiting: %w", l.waiting, err)
	}
	l.now = sinceEpoch()
	rest := l.in[:l.unread+n]
	for {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		s, err := l.answer(rest[:end])
		if err != nil {
			return err
		}
		if err := p.next(l, s); err != nil {
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

// answer finds the slot that a reply answers and checks all of the reply.
func (l *lane) answer(line []byte) (*slot, error) {
	s := l.slotOf(line)
	if s == nil {
		return nil, fmt.Errorf("the reply %q answers no request", line)
	}
	// What is between the op and the key.
	middle := line[2 : len(line)-keyLength-1]
	if !l.expected(s, middle) {
		return nil, fmt.Errorf("the reply %q to %c for %q, whose last token is %q, is wrong",
			line, s.awaits, s.key[:], s.token())
	}
	if s.awaits == acquire {
		l.granted(s, middle)
	}
	s.awaits, s.answered = resting, s.awaits
	l.waiting--
	l.latency.add(l.now - s.sent)
	return s, nil
}

// slotOf returns the slot whose key a line ends with and whose op it starts
// with, or nil.
func (l *lane) slotOf(line []byte) *slot {
	const least = len("A ") + 1 + len(" ") + keyLength
	if len(line) < least || line[1] != ' ' || line[len(line)-keyLength-1] != ' ' {
		return nil
	}
	key := line[len(line)-keyLength:]
	i := slotOfKey(key)
	if i < 0 || i >= len(l.slots) {
		return nil
	}
	s := &l.slots[i]
	if s.awaits == resting || s.awaits != line[0] || !bytes.Equal(key, s.key[:]) {
		return nil
	}
	return s
}

// expected holds what a reply says against what its request asked for: a token
// greater than the last one, the token released, or an echo.
func (l *lane) expected(s *slot, middle []byte) bool {
	switch {
	case s.awaits == release:
		return bytes.Equal(middle, s.token())
	case l.echo:
		return string(middle) == leaseAndWait
	default:
		return isToken(middle) && greater(middle, s.token())
	}
}

func (l *lane) granted(s *slot, middle []byte) {
	if l.echo {
		middle = []byte(echoToken)
	}
	s.setToken(middle)
}

func isToken(text []byte) bool {
	if len(text) > maxToken || text[0] < '1' {
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// greater compares decimals without leading zeros.
func greater(a, b []byte) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return bytes.Compare(a, b) > 0
}
