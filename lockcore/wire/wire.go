package wire

import (
	"math"
	"time"
)

// Limits of the protocol. A server may set narrower ones for keys and leases.
const (
	// MaxLine is the length of the longest line in bytes, its end included.
	MaxLine = 4096
	// MaxKey is the length of the longest key in bytes.
	MaxKey = 1024
	// MinClientID and MaxClientID bound the length of a client id in bytes.
	MinClientID = 16
	MaxClientID = 64
	// MaxWait is the longest wait that ends.
	MaxWait = (1 << 31) * time.Second
	// MaxToken is the greatest token a server issues: it fits a signed column.
	MaxToken = 1<<63 - 1
	// PeerPrefix is what a connection between two nodes starts with.
	PeerPrefix = "PEER"
)

// In Go a wait is a duration whose two ends mean what they seem to: Try waits
// not at all, Forever without limit. On the wire they are the words try and 0.
const (
	Try     time.Duration = 0
	Forever time.Duration = math.MaxInt64
)

// Op is what a request asks for: its first letter.
type Op byte

// The requests.
const (
	OpHello   Op = 'H'
	OpGiveUp  Op = 'X'
	OpAcquire Op = 'A'
	OpRelease Op = 'R'
	OpKeep    Op = 'K'
	OpCancel  Op = 'C'
	OpQuery   Op = 'Q'
	OpPing    Op = 'P'
)

func isOp(b byte) bool {
	switch Op(b) {
	case OpHello, OpGiveUp, OpAcquire, OpRelease, OpKeep, OpCancel, OpQuery, OpPing:
		return true
	}
	return false
}

// hasKey tells the ops whose last field is a key.
func (o Op) hasKey() bool {
	switch o {
	case OpHello, OpGiveUp, OpPing:
		return false
	}
	return true
}

// Code is why a request was refused. As an error it is what ParseRequest
// returns for a request that can be read but not carried out.
type Code string

// The codes.
const (
	CodeNotHeld        Code = "not-held"
	CodeTaken          Code = "taken"
	CodeBadLease       Code = "bad-lease"
	CodeBadWait        Code = "bad-wait"
	CodeBadKey         Code = "bad-key"
	CodeNeedHello      Code = "need-hello"
	CodeClientInUse    Code = "client-in-use"
	CodeTooManyKeys    Code = "too-many-keys"
	CodeTooManyWaiters Code = "too-many-waiters"
	CodeNotReady       Code = "not-ready"
	CodeDenied         Code = "denied"
)

// codes are all of them; nobody changes it.
var codes = [...]Code{
	CodeNotHeld, CodeTaken, CodeBadLease, CodeBadWait, CodeBadKey, CodeNeedHello,
	CodeClientInUse, CodeTooManyKeys, CodeTooManyWaiters, CodeNotReady, CodeDenied,
}

func (c Code) Error() string { return "refused: " + string(c) }

// Malformed is why a line cannot be read as a request: the text that goes into
// the last reply of its connection.
type Malformed string

// What ParseRequest cannot see, because it takes more than one line to tell.
const (
	ErrLineTooLong Malformed = "line longer than 4096 bytes"
	ErrHelloFirst  Malformed = "H must be the first request, and only once"
)

func (m Malformed) Error() string { return "malformed: " + string(m) }
