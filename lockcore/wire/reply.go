package wire

import "time"

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
	// Left of the lease, in Q. It is written rounded up to the millisecond.
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
	// Key is the last field of what answers a request about one. H, X and P are
	// about none: in M and E that name them a - is written in its place.
	Key []byte
}

// AppendReply appends the reply as a line with its LF. Nothing is checked: the
// caller answers for fields without space or LF, and for a key that came out of
// ParseRequest. Then the line is at most MaxLine bytes long, but in M only with
// an address of 3,000 bytes or less.
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
	return appendLast(dst, r.Key)
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
		return appendMoved(dst, r)
	case KindError:
		return appendError(dst, r)
	}
	return append(dst, '\n')
}

func appendMoved(dst []byte, r *Reply) []byte {
	dst = append(append(dst, ' '), r.Addr...)
	if r.Op == 0 {
		return append(appendNumber(dst, r.Generation), '\n')
	}
	return appendAnswered(append(dst, ' ', byte(r.Op)), r)
}

func appendError(dst []byte, r *Reply) []byte {
	if r.Op == 0 {
		return appendLast(append(dst, " malformed"...), r.Text)
	}
	dst = append(dst, ' ', byte(r.Op), ' ')
	return appendAnswered(append(dst, r.Code...), r)
}

// appendAnswered appends what else names the request that a refusal or a
// redirection answers.
func appendAnswered(dst []byte, r *Reply) []byte {
	if r.Op == OpCancel {
		dst = appendNumber(dst, r.Target)
	}
	if !r.Op.hasKey() {
		return append(dst, " -\n"...)
	}
	return appendLast(dst, r.Key)
}
