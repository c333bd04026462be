package load

import (
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// resting is the op of no request.
const resting wire.Op = 0

// maxTokenDigits is the length of the longest token, 2^64-1.
const maxTokenDigits = 20

// Slot is one request in flight on a lane, time and again, about its own key. It
// belongs to its lane's goroutine.
type Slot struct {
	key      []byte
	index    int
	sent     time.Duration
	awaits   wire.Op
	answered wire.Op
	token    token
}

// Index returns the slot's number on its lane, from 0.
func (s *Slot) Index() int { return s.index }

// Answered returns the op that was answered last, wire.OpAcquire or
// wire.OpRelease; 0 when the plan has just begun.
func (s *Slot) Answered() wire.Op { return s.answered }

// SetRound gives the slot another key, one for each round from 0 to 99,999,999.
// Nothing may be in flight or held.
func (s *Slot) SetRound(round int) { setRound(s.key, round) }

// Token returns the digits of the last grant's token, valid until the next one.
func (s *Slot) Token() []byte { return s.token.text() }

// SetToken makes the next release give back a token remembered from before, in
// decimal.
func (s *Slot) SetToken(text []byte) { s.token.set(text) }

// token is a fencing token as it was spelled: comparing and sending it back takes
// no conversion.
type token struct {
	length int
	digits [maxTokenDigits]byte
}

func (t *token) text() []byte { return t.digits[:t.length] }

func (t *token) set(text []byte) { t.length = copy(t.digits[:], text) }

// isBelow compares decimals without leading zeros; no token at all is below every
// token.
func (t *token) isBelow(text []byte) bool {
	if len(text) != t.length {
		return len(text) > t.length
	}
	return string(text) > string(t.text())
}

func isToken(text []byte) bool {
	if len(text) == 0 || len(text) > maxTokenDigits || text[0] < '1' {
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
