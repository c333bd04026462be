package wire

import (
	"bytes"
	"errors"
	"time"
)

// Kind is what a reply is: its first letter.
type Kind byte

// The replies.
const (
	KindHello     Kind = 'H'
	KindGaveUp    Kind = 'X'
	KindGranted   Kind = 'A'
	KindTimeout   Kind = 'T'
	KindReleased  Kind = 'R'
	KindKept      Kind = 'K'
	KindCancelled Kind = 'C'
	KindQueried   Kind = 'Q'
	KindPong      Kind = 'P'
	KindMoved     Kind = 'M'
	KindError     Kind = 'E'
)

// Role is what a node is in its cluster.
type Role byte

// The roles.
const (
	RoleActive Role = iota + 1
	RoleStandby
)

func (r Role) String() string {
	if r == RoleActive {
		return "active"
	}
	return "standby"
}

// version is the protocol's, as H answers it.
const version = "lock/1"

// Reply is one line from a server.
type Reply struct {
	Kind Kind
	// Tag is that of the request; 0 for none.
	Tag uint64
	// Op, in M and E, is that of the request answered. In M it is 0 for the
	// notice that the active node moved, in E for a line that was malformed.
	Op Op
	// Token in A, R, K and Q; in Q 0 if the key is free.
	Token uint64
	// Left of the lease, in Q.
	Left time.Duration
	// Waiters in Q.
	Waiters int
	// Target in C, and in M and E that answer C.
	Target uint64
	// N in X.
	N uint64
	// Role and Active in H; Active is an address, - for this node, ? for none
	// known.
	Role   Role
	Active []byte
	// Addr in M is the active node's.
	Addr []byte
	// Generation in H and in the notice M.
	Generation uint64
	// Code in E that answers a request.
	Code Code
	// Text in E for a line that was malformed.
	Text []byte
	// Key is the last field of what answers a request about one.
	Key []byte
}

// AppendReply appends the reply as a line with its LF.
func AppendReply(dst []byte, r *Reply) []byte {
	dst = appendHead(dst, byte(r.Kind), r.Tag)
	switch r.Kind {
	case KindGranted, KindReleased, KindKept:
		dst = appendNumber(dst, r.Token)
	case KindCancelled:
		dst = appendNumber(dst, r.Target)
	case KindQueried:
		dst = appendNumber(dst, r.Token)
		dst = appendTime(append(dst, ' '), r.Left)
		dst = appendNumber(dst, uint64(max(0, r.Waiters)))
	case KindTimeout:
	default:
		return appendOther(dst, r)
	}
	dst = append(append(dst, ' '), r.Key...)
	return append(dst, '\n')
}

// appendOther appends what does not simply end in the key.
func appendOther(dst []byte, r *Reply) []byte {
	switch r.Kind {
	case KindGaveUp:
		dst = appendNumber(dst, r.N)
	case KindHello:
		dst = append(append(dst, ' '), version...)
		dst = append(append(dst, ' '), r.Role.String()...)
		dst = append(append(dst, ' '), r.Active...)
		dst = appendNumber(dst, r.Generation)
	case KindMoved:
		dst = append(append(dst, ' '), r.Addr...)
		if r.Op == 0 {
			dst = appendNumber(dst, r.Generation)
		} else {
			dst = appendAnswered(dst, r)
		}
	case KindError:
		if r.Op == 0 {
			dst = append(append(dst, " malformed "...), r.Text...)
		} else {
			dst = appendAnswered(dst, r)
		}
	}
	return append(dst, '\n')
}

// appendAnswered appends which request a refusal or redirection answers.
func appendAnswered(dst []byte, r *Reply) []byte {
	dst = append(dst, ' ', byte(r.Op))
	if r.Kind == KindError {
		dst = append(append(dst, ' '), r.Code...)
	}
	if r.Op == OpCancel {
		dst = appendNumber(dst, r.Target)
	}
	dst = append(dst, ' ')
	switch r.Op {
	case OpHello, OpGiveUp, OpPing:
		return append(dst, '-')
	default:
		return append(dst, r.Key...)
	}
}

// errReply is about a line that is no reply of this protocol.
var errReply = errors.New("not a reply of the lock protocol")

// ParseReply reads one line, without its LF; one CR at its end is dropped. The
// slices alias the line, but for Code. An error means that the line cannot be
// read, nor what follows it be trusted.
func ParseReply(line []byte, r *Reply) error {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	*r = Reply{}
	s := scanner{rest: line}
	if !s.replyHead(r) || !s.replyBody(r) {
		return errReply
	}
	return nil
}

// replyHead reads the kind and the tag.
func (s *scanner) replyHead(r *Reply) bool {
	if len(s.rest) == 0 {
		return false
	}
	r.Kind = Kind(s.rest[0])
	s.rest = s.rest[1:]
	switch {
	case len(s.rest) == 0:
		return true
	case s.rest[0] == ' ':
		s.rest, s.spaced = s.rest[1:], true
		return true
	case s.rest[0] != '#':
		return false
	}
	s.rest = s.rest[1:]
	var ok bool
	r.Tag, ok = s.number()
	return ok && r.Tag != 0
}

func (s *scanner) replyBody(r *Reply) bool {
	ok := true
	switch r.Kind {
	case KindGranted, KindReleased, KindKept:
		r.Token, ok = s.spacedNumber()
	case KindCancelled:
		r.Target, ok = s.spacedNumber()
	case KindQueried:
		ok = s.queried(r)
	case KindTimeout:
	case KindPong:
		return !s.spaced && len(s.rest) == 0
	case KindGaveUp:
		r.N, ok = s.spacedNumber()
		return ok && !s.spaced
	case KindHello:
		return s.helloReply(r)
	case KindMoved:
		return s.moved(r)
	case KindError:
		return s.errorReply(r)
	default:
		return false
	}
	return ok && s.replyKey(r)
}

func (s *scanner) replyKey(r *Reply) bool {
	r.Key = s.rest
	return s.spaced && len(r.Key) > 0
}

func (s *scanner) queried(r *Reply) bool {
	var ok bool
	if r.Token, ok = s.spacedNumber(); !ok {
		return false
	}
	left, ok := s.field()
	if r.Left = parseTime(left); !ok || r.Left < 0 {
		return false
	}
	waiters, ok := s.spacedNumber()
	r.Waiters = int(waiters)
	return ok && r.Waiters >= 0
}

func (s *scanner) helloReply(r *Reply) bool {
	spoken, ok1 := s.field()
	role, ok2 := s.field()
	active, ok3 := s.field()
	generation, ok4 := s.spacedNumber()
	switch string(role) {
	case "active":
		r.Role = RoleActive
	case "standby":
		r.Role = RoleStandby
	default:
		return false
	}
	r.Active, r.Generation = active, generation
	return ok1 && ok2 && ok3 && ok4 && !s.spaced && string(spoken) == version
}

func (s *scanner) moved(r *Reply) bool {
	var ok bool
	if r.Addr, ok = s.field(); !ok || len(s.rest) == 0 {
		return false
	}
	if isDigit(s.rest[0]) {
		r.Generation, ok = s.spacedNumber()
		return ok && !s.spaced
	}
	return s.answeredOp(r) && s.answeredKey(r)
}

func (s *scanner) errorReply(r *Reply) bool {
	const malformed = "malformed "
	if s.spaced && bytes.HasPrefix(s.rest, []byte(malformed)) {
		r.Text = s.rest[len(malformed):]
		return true
	}
	if !s.answeredOp(r) {
		return false
	}
	code, ok := s.field()
	r.Code = codeOf(code)
	return ok && s.answeredKey(r)
}

func (s *scanner) answeredOp(r *Reply) bool {
	op, ok := s.field()
	if !ok || len(op) != 1 || !isOp(op[0]) {
		return false
	}
	r.Op = Op(op[0])
	return true
}

func (s *scanner) answeredKey(r *Reply) bool {
	if r.Op == OpCancel {
		var ok bool
		if r.Target, ok = s.spacedNumber(); !ok {
			return false
		}
	}
	r.Key = s.rest
	if r.Op == OpHello || r.Op == OpGiveUp || r.Op == OpPing {
		r.Key = nil
	}
	return s.spaced
}

// codeOf spares an allocation for the codes that are known.
func codeOf(code []byte) Code {
	for _, known := range [...]Code{
		CodeNotHeld, CodeTaken, CodeBadLease, CodeBadWait, CodeBadKey, CodeNeedHello,
		CodeClientInUse, CodeTooManyKeys, CodeTooManyWaiters, CodeNotReady, CodeDenied,
	} {
		if string(code) == string(known) {
			return known
		}
	}
	return Code(code)
}
