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
// [Malformed]: the line cannot be read, nor what follows it be trusted.
func ParseRequest(line []byte, r *Request) error {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	*r = Request{}
	s := scanner{rest: line}
	if err := s.head(r); err != nil {
		return err
	}
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
	keyTooLong  Malformed = "key longer than 1024 bytes"
)

// scanner reads the fields of a line from the left.
type scanner struct {
	rest []byte
	// spaced: the field read last ended in a space, so another one follows.
	spaced bool
}

// head reads the op and its tag.
func (s *scanner) head(r *Request) error {
	if len(s.rest) == 0 || !isOp(s.rest[0]) {
		return wantOp
	}
	r.Op = Op(s.rest[0])
	s.rest = s.rest[1:]
	switch {
	case len(s.rest) == 0:
		return nil
	case s.rest[0] == ' ':
		s.rest, s.spaced = s.rest[1:], true
		return nil
	case s.rest[0] != '#':
		return wantOp
	}
	s.rest = s.rest[1:]
	tag, ok := s.number()
	if !ok || tag == 0 {
		return wantTag
	}
	r.Tag = tag
	return nil
}

func isOp(b byte) bool {
	switch Op(b) {
	case OpHello, OpGiveUp, OpAcquire, OpRelease, OpKeep, OpCancel, OpQuery, OpPing:
		return true
	}
	return false
}

func (s *scanner) acquire(r *Request) error {
	lease, ok1 := s.field()
	wait, ok2 := s.field()
	if err := s.key(r, ok1 && ok2, wantAcquire); err != nil {
		return err
	}
	if r.Lease = parseTime(lease); r.Lease < time.Millisecond {
		return CodeBadLease
	}
	if r.Wait = parseWait(wait); r.Wait < 0 {
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
	n, ok2 := s.spacedNumber()
	if !ok1 || !ok2 || n == 0 || s.spaced || !isClientID(id) {
		return wantHello
	}
	r.Client, r.N = id, n
	return nil
}

func (s *scanner) giveUp(r *Request) error {
	n, ok := s.spacedNumber()
	if !ok || n == 0 || s.spaced {
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

// field reads up to the next space; ok if one was there to end the field.
func (s *scanner) field() (field []byte, ok bool) {
	if !s.spaced {
		return nil, false
	}
	end := bytes.IndexByte(s.rest, ' ')
	if end < 0 {
		field, s.rest, s.spaced = s.rest, nil, false
		return field, false
	}
	field, s.rest = s.rest[:end], s.rest[end+1:]
	return field, end > 0
}

// spacedNumber reads a number that follows a space.
func (s *scanner) spacedNumber() (v uint64, ok bool) {
	if !s.spaced {
		return 0, false
	}
	return s.number()
}

// number reads a decimal without leading zeros that fits 64 bits, and the space
// behind it, if any.
func (s *scanner) number() (v uint64, ok bool) {
	const most = 20 // digits of 2^64-1
	i := 0
	for ; i < len(s.rest) && i <= most && isDigit(s.rest[i]); i++ {
		digit := uint64(s.rest[i] - '0')
		next := v*10 + digit
		if i == most-1 && (v > (1<<64-1)/10 || next < digit) {
			return 0, false
		}
		v = next
	}
	if i == 0 || i > most || i > 1 && s.rest[0] == '0' {
		return 0, false
	}
	s.spaced = i < len(s.rest)
	if !s.spaced {
		s.rest = nil
		return v, true
	}
	if s.rest[i] != ' ' {
		return 0, false
	}
	s.rest = s.rest[i+1:]
	return v, true
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

// longKey refuses a key that is too long; a refusal that would be too long a
// line itself cannot be sent.
func longKey(r *Request) error {
	const longestRefusal = len("E#18446744073709551615 C bad-key 18446744073709551615 \n")
	if len(r.Key) > MaxLine-longestRefusal {
		return keyTooLong
	}
	return CodeBadKey
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isClientID(id []byte) bool {
	if len(id) < MinClientID || len(id) > MaxClientID {
		return false
	}
	for _, b := range id {
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		if !letter && !isDigit(b) && b != '.' && b != '_' && b != '-' {
			return false
		}
	}
	return true
}

// AppendRequest appends the request as a line with its LF. Times are rounded up
// to the millisecond: none becomes 0.
func AppendRequest(dst []byte, r *Request) []byte {
	dst = appendHead(dst, byte(r.Op), r.Tag)
	switch r.Op {
	case OpHello:
		dst = append(append(dst, ' '), r.Client...)
		dst = appendNumber(dst, r.N)
	case OpGiveUp:
		dst = appendNumber(dst, r.N)
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
	switch r.Op {
	case OpHello, OpGiveUp, OpPing:
	default:
		dst = append(append(dst, ' '), r.Key...)
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
