package wire

import (
	"bytes"
	"strconv"
	"time"
)

// Request is one line from a client.
type Request struct {
	Op Op
	// Tag is chosen by the client and repeated in the reply; 0 for none.
	Tag uint64
	// Client is the id in H.
	Client []byte
	// N is the number of a connection, in H and X.
	N uint64
	// Token is the proof of ownership, in R and K.
	Token uint64
	// Lease is asked for in A and K; at least a millisecond.
	Lease time.Duration
	// Wait in A: Try, Forever, or a time in between.
	Wait time.Duration
	// Target in C is the tag of the acquire to cancel.
	Target uint64
	// Key is the last field of A, R, K, C and Q, as it was sent.
	Key []byte
}

// ParseRequest reads one line, without its LF; one CR at its end is dropped.
// Client and Key alias the line.
//
// The error is nil; or a [Code]: the request was read but must be refused, and
// Op, Tag, Target and Key are set so that the refusal can name it; or a
// [Malformed]: the line cannot be read, nor what follows it be trusted, and r
// holds nothing of use. Of several faults the first of these is named: a
// malformed line, then bad-key, bad-lease, bad-wait.
//
// That the line is not longer than MaxLine is for its reader to see to.
func ParseRequest(line []byte, r *Request) error {
	*r = Request{}
	s := scan(line)
	if len(s.rest) == 0 || !isOp(s.rest[0]) {
		return wantOp
	}
	r.Op = Op(s.rest[0])
	tag, wrong := s.head()
	if wrong != "" {
		return wrong
	}
	r.Tag = tag
	return s.fields(r)
}

// fields reads what follows the op and its tag.
func (s *scanner) fields(r *Request) error {
	switch r.Op {
	case OpAcquire:
		return s.acquire(r)
	case OpRelease:
		return s.release(r)
	case OpKeep:
		return s.keep(r)
	case OpCancel:
		return s.cancel(r)
	case OpQuery:
		return s.query(r)
	case OpHello:
		return s.hello(r)
	case OpGiveUp:
		return s.giveUp(r)
	default:
		return s.ping()
	}
}

// What a line should have looked like.
const (
	wantOp      Malformed = "expected one of H X A R K C Q P, then # and a tag, or a space"
	wantTag     Malformed = "expected a tag from 1 to 2^64-1 after #, without leading zeros"
	wantAcquire Malformed = "expected A <lease> <wait> <key>"
	wantRelease Malformed = "expected R <token> <key>"
	wantKeep    Malformed = "expected K <token> <lease> <key>"
	wantCancel  Malformed = "expected C <tag> <key>"
	wantQuery   Malformed = "expected Q <key>"
	wantHello   Malformed = "expected H <client-id> <n>, the id 16 to 64 of A-Z a-z 0-9 . _ -, n from 1"
	wantGiveUp  Malformed = "expected X <n>, n from 1"
	wantPing    Malformed = "expected P and nothing more"
	keyTooLong  Malformed = "key too long"
)

func (s *scanner) acquire(r *Request) error {
	lease, ok1 := s.field()
	wait, ok2 := s.field()
	if err := s.key(r, ok1 && ok2, wantAcquire); err != nil {
		return err
	}
	if r.Lease = parseTime(lease); r.Lease < time.Millisecond {
		return CodeBadLease
	}
	if r.Wait = parseWait(wait); r.Wait == invalid {
		return CodeBadWait
	}
	return nil
}

func (s *scanner) release(r *Request) error {
	token, ok := s.spacedNumber()
	r.Token = token
	return s.key(r, ok, wantRelease)
}

func (s *scanner) keep(r *Request) error {
	token, ok1 := s.spacedNumber()
	lease, ok2 := s.field()
	r.Token = token
	if err := s.key(r, ok1 && ok2, wantKeep); err != nil {
		return err
	}
	if r.Lease = parseTime(lease); r.Lease < time.Millisecond {
		return CodeBadLease
	}
	return nil
}

func (s *scanner) cancel(r *Request) error {
	target, ok := s.spacedNumber()
	r.Target = target
	return s.key(r, ok && target != 0, wantCancel)
}

func (s *scanner) query(r *Request) error { return s.key(r, true, wantQuery) }

func (s *scanner) hello(r *Request) error {
	id, ok1 := s.field()
	n, ok2 := s.lastNumber()
	if !ok1 || !ok2 || n == 0 || !isClientID(id) {
		return wantHello
	}
	r.Client, r.N = id, n
	return nil
}

func (s *scanner) giveUp(r *Request) error {
	n, ok := s.lastNumber()
	if !ok || n == 0 {
		return wantGiveUp
	}
	r.N = n
	return nil
}

func (s *scanner) ping() error {
	if s.spaced || len(s.rest) > 0 {
		return wantPing
	}
	return nil
}

// key reads the rest of the line. before tells whether the fields before it
// were well formed; want is what to say if not.
func (s *scanner) key(r *Request, before bool, want Malformed) error {
	if !before || !s.spaced {
		return want
	}
	r.Key = s.rest
	switch {
	case len(r.Key) > MaxKey:
		return longKey(r)
	case len(r.Key) == 0, bytes.IndexByte(r.Key, 0) >= 0, bytes.IndexByte(r.Key, '\r') >= 0:
		return CodeBadKey
	}
	return nil
}

// maxRefusedKey is the length of the longest key that a refusal can repeat: in a
// line of MaxLine bytes, whatever the op, the tag, the target and the code are.
const maxRefusedKey = MaxLine - len("E#18446744073709551615 C too-many-waiters 18446744073709551615 \r\n")

// longKey refuses a key that is too long; a refusal that would be too long a
// line itself cannot be sent.
func longKey(r *Request) error {
	if len(r.Key) > maxRefusedKey {
		return keyTooLong
	}
	return CodeBadKey
}

func isClientID(id []byte) bool {
	if len(id) < MinClientID || len(id) > MaxClientID {
		return false
	}
	for _, b := range id {
		if !isClientByte(b) {
			return false
		}
	}
	return true
}

func isClientByte(b byte) bool {
	letter := 'a' <= b|0x20 && b|0x20 <= 'z'
	return letter || isDigit(b) || b == '.' || b == '_' || b == '-'
}

// AppendRequest appends the request as a line with its LF. Times are rounded up
// to the millisecond, so none becomes 0; a wait that is over (0 or less) is try,
// and one longer than MaxWait, but not Forever, is cut to it.
//
// The caller answers for the rest: nothing is checked, and an LF in Key would
// start another request.
func AppendRequest(dst []byte, r *Request) []byte {
	dst = appendHead(dst, byte(r.Op), r.Tag)
	switch r.Op {
	case OpHello:
		dst = append(append(dst, ' '), r.Client...)
		return append(appendNumber(dst, r.N), '\n')
	case OpGiveUp:
		return append(appendNumber(dst, r.N), '\n')
	case OpPing:
		return append(dst, '\n')
	case OpAcquire:
		dst = appendTime(append(dst, ' '), r.Lease)
		dst = appendWait(append(dst, ' '), r.Wait)
	case OpRelease:
		dst = appendNumber(dst, r.Token)
	case OpKeep:
		dst = appendNumber(dst, r.Token)
		dst = appendTime(append(dst, ' '), r.Lease)
	case OpCancel:
		dst = appendNumber(dst, r.Target)
	}
	return appendLast(dst, r.Key)
}

// appendLast appends the last field and the end of the line. A field that ends
// in CR gets another one, because the reader drops one: otherwise a key that must
// be refused would arrive as another, valid one.
func appendLast(dst, field []byte) []byte {
	dst = append(append(dst, ' '), field...)
	if dst[len(dst)-1] == '\r' {
		dst = append(dst, '\r')
	}
	return append(dst, '\n')
}

// appendHead appends an op or the kind of a reply, and the tag.
func appendHead(dst []byte, letter byte, tag uint64) []byte {
	dst = append(dst, letter)
	if tag != 0 {
		dst = strconv.AppendUint(append(dst, '#'), tag, 10)
	}
	return dst
}

func appendNumber(dst []byte, v uint64) []byte {
	return strconv.AppendUint(append(dst, ' '), v, 10)
}
