package wire

import (
	"bytes"
	"math"
)

// badReply is what was wrong with a line that should have been a reply. It
// repeats nothing of the line, so it can be logged as it is.
type badReply string

func (b badReply) Error() string { return "not a reply of the lock protocol: " + string(b) }

// What a reply should have looked like.
const (
	wantKind      badReply = "expected one of H X A T R K C Q P M E, then # and a tag, or a space"
	wantReplyTag  badReply = "expected a tag from 1 to 2^64-1 after #, without leading zeros"
	wantWelcome   badReply = "expected H lock/1 active|standby <active> <generation>"
	wantGaveUp    badReply = "expected X <n>"
	wantGranted   badReply = "expected A <token> <key>"
	wantTimeout   badReply = "expected T <key>"
	wantReleased  badReply = "expected R <token> <key>"
	wantKept      badReply = "expected K <token> <key>"
	wantCancelled badReply = "expected C <tag> <key>"
	wantQueried   badReply = "expected Q <token> <lease-left> <waiters> <key>"
	wantPong      badReply = "expected P and nothing more"
	wantMoved     badReply = "expected M <addr> <op> <key> or M <addr> <generation>"
	wantError     badReply = "expected E <op> <code> <key> or E malformed <text>"
)

// ParseReply reads one line, without its LF; one CR at its end is dropped. The
// slices alias the line. An error says what was expected and means that the line
// cannot be read, nor what follows it be trusted; r then holds nothing of use.
//
// A code that is not known is no error: a newer server may have more of them.
func ParseReply(line []byte, r *Reply) error {
	*r = Reply{}
	s := scan(line)
	if len(s.rest) == 0 {
		return wantKind
	}
	r.Kind = Kind(s.rest[0])
	tag, wrong := s.head()
	switch wrong {
	case "":
		r.Tag = tag
		return s.replyFields(r)
	case wantTag:
		return wantReplyTag
	default:
		return wantKind
	}
}

// replyFields reads what follows the kind and the tag.
func (s *scanner) replyFields(r *Reply) error {
	switch r.Kind {
	case KindHello:
		return s.welcome(r)
	case KindGaveUp:
		return s.gaveUp(r)
	case KindQueried:
		return s.queried(r)
	case KindPong:
		return s.pong()
	case KindMoved:
		return s.moved(r)
	case KindError:
		return s.errorReply(r)
	default:
		return s.aboutKey(r)
	}
}

// aboutKey reads the replies of at most one number and the key.
func (s *scanner) aboutKey(r *Reply) error {
	switch r.Kind {
	case KindGranted:
		return s.numberAndKey(r, &r.Token, wantGranted)
	case KindReleased:
		return s.numberAndKey(r, &r.Token, wantReleased)
	case KindKept:
		return s.numberAndKey(r, &r.Token, wantKept)
	case KindCancelled:
		return s.numberAndKey(r, &r.Target, wantCancelled)
	case KindTimeout:
		return s.replyKey(r, wantTimeout)
	default:
		return wantKind
	}
}

func (s *scanner) numberAndKey(r *Reply, number *uint64, want badReply) error {
	var ok bool
	if *number, ok = s.spacedNumber(); !ok {
		return want
	}
	return s.replyKey(r, want)
}

func (s *scanner) replyKey(r *Reply, want badReply) error {
	if !s.spaced || len(s.rest) == 0 {
		return want
	}
	r.Key = s.rest
	return nil
}

func (s *scanner) welcome(r *Reply) error {
	spoken, ok1 := s.field()
	role, ok2 := s.field()
	active, ok3 := s.field()
	generation, ok4 := s.lastNumber()
	r.Role, r.Active, r.Generation = roleOf(role), active, generation
	if !ok1 || !ok2 || !ok3 || !ok4 || r.Role == 0 || string(spoken) != version {
		return wantWelcome
	}
	return nil
}

// roleOf returns 0 for what is no role.
func roleOf(word []byte) Role {
	switch string(word) {
	case "active":
		return RoleActive
	case "standby":
		return RoleStandby
	}
	return 0
}

func (s *scanner) gaveUp(r *Reply) error {
	var ok bool
	if r.N, ok = s.lastNumber(); !ok {
		return wantGaveUp
	}
	return nil
}

func (s *scanner) queried(r *Reply) error {
	token, ok1 := s.spacedNumber()
	field, ok2 := s.field()
	waiters, ok3 := s.spacedNumber()
	left := parseTime(field)
	if !ok1 || !ok2 || !ok3 || left == invalid || waiters > math.MaxInt {
		return wantQueried
	}
	r.Token, r.Left, r.Waiters = token, left, int(waiters)
	return s.replyKey(r, wantQueried)
}

func (s *scanner) pong() error {
	if s.spaced || len(s.rest) > 0 {
		return wantPong
	}
	return nil
}

// moved tells the notice from an answer by the digit: no op is one.
func (s *scanner) moved(r *Reply) error {
	var ok bool
	if r.Addr, ok = s.field(); !ok || len(s.rest) == 0 {
		return wantMoved
	}
	if isDigit(s.rest[0]) {
		r.Generation, ok = s.lastNumber()
	} else {
		ok = s.answeredOp(r) && s.answeredKey(r)
	}
	if !ok {
		return wantMoved
	}
	return nil
}

func (s *scanner) errorReply(r *Reply) error {
	if text, is := bytes.CutPrefix(s.rest, []byte("malformed ")); is {
		r.Text = text
		return nil
	}
	if !s.answeredOp(r) {
		return wantError
	}
	code, ok := s.field()
	if r.Code = codeOf(code); !ok || !s.answeredKey(r) {
		return wantError
	}
	return nil
}

func (s *scanner) answeredOp(r *Reply) bool {
	op, ok := s.field()
	if !ok || len(op) != 1 || !isOp(op[0]) {
		return false
	}
	r.Op = Op(op[0])
	return true
}

// answeredKey reads what the request was about. A key may be empty here: that is
// one way to earn bad-key.
func (s *scanner) answeredKey(r *Reply) bool {
	if r.Op == OpCancel {
		var ok bool
		if r.Target, ok = s.spacedNumber(); !ok {
			return false
		}
	}
	if !r.Op.hasKey() {
		return s.spaced && string(s.rest) == "-"
	}
	r.Key = s.rest
	return s.spaced
}

// codeOf spares an allocation for the codes that are known.
func codeOf(word []byte) Code {
	for _, known := range codes {
		if string(word) == string(known) {
			return known
		}
	}
	return Code(word)
}
