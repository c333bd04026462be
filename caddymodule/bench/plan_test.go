package bench

import (
	"fmt"
	"strconv"

	"github.com/caddylock/caddylock/caddymodule/load"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// maxTokenDigits is the length of the longest token, 2^64-1.
const maxTokenDigits = 20

// churn acquires and releases keys that were never used before, so many for each
// slot. A lane has its own.
type churn struct {
	keys int
	used []int // by slot
}

func newChurn(l *load.Lane, keys int) *churn {
	return &churn{keys: keys, used: make([]int, l.Slots())}
}

func (p *churn) Next(l *load.Lane, s *load.Slot) error {
	if s.Answered() == wire.OpAcquire {
		l.Release(s)
		return nil
	}
	if s.Answered() == wire.OpRelease {
		l.Count()
	}
	used := &p.used[s.Index()]
	if *used < p.keys {
		s.SetRound(*used)
		*used++
		l.Acquire(s)
	}
	return nil
}

// hold acquires keys and remembers their tokens, so many for each slot. A lane
// has its own.
type hold struct {
	keys   int
	tokens [][]uint64 // by slot, then by round
	digits []byte     // of the token given back last
}

func newHold(l *load.Lane, keys int) *hold {
	h := &hold{keys: keys, tokens: make([][]uint64, l.Slots()), digits: make([]byte, 0, maxTokenDigits)}
	for i := range h.tokens {
		h.tokens[i] = make([]uint64, 0, keys)
	}
	return h
}

func (p *hold) Next(l *load.Lane, s *load.Slot) error {
	tokens := &p.tokens[s.Index()]
	if s.Answered() == wire.OpAcquire {
		token, err := strconv.ParseUint(string(s.Token()), 10, 64)
		if err != nil {
			return fmt.Errorf("reading a token: %w", err)
		}
		*tokens = append(*tokens, token)
		l.Count()
	}
	if len(*tokens) < p.keys {
		s.SetRound(len(*tokens))
		l.Acquire(s)
	}
	return nil
}

// giveBack releases what a hold has acquired, the last one first.
type giveBack struct{ *hold }

func (p giveBack) Next(l *load.Lane, s *load.Slot) error {
	tokens := &p.tokens[s.Index()]
	if s.Answered() == wire.OpRelease {
		l.Count()
	}
	if last := len(*tokens) - 1; last >= 0 {
		s.SetRound(last)
		s.SetToken(strconv.AppendUint(p.digits[:0], (*tokens)[last], 10))
		*tokens = (*tokens)[:last]
		l.Release(s)
	}
	return nil
}
