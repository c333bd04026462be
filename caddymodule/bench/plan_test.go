package bench

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// plan decides what the slots of a lane do. Lanes may share one if it says so.
type plan interface {
	// next is called for each slot at the start and after each answer to it.
	// It sends the slot's next request, or none: then the slot is done.
	next(*lane, *slot) error
}

// pairs acquires and releases the slot's key until it is stopped, at least once.
// Lanes share it.
type pairs struct{ stop atomic.Bool }

func (p *pairs) next(l *lane, s *slot) error {
	if s.answered == acquire {
		l.release(s)
		return nil
	}
	if s.answered == release {
		l.units++
	}
	if s.answered == resting || !p.stop.Load() {
		l.acquire(s)
	}
	return nil
}

// churn acquires and releases keys that were never used before, so many for each
// slot. A lane has its own.
type churn struct {
	keys int
	used []int // by slot
}

func newChurn(l *lane, keys int) *churn {
	return &churn{keys: keys, used: make([]int, len(l.slots))}
}

func (p *churn) next(l *lane, s *slot) error {
	if s.answered == acquire {
		l.release(s)
		return nil
	}
	if s.answered == release {
		l.units++
	}
	used := &p.used[slotOfKey(s.key[:])]
	if *used < p.keys {
		setRound(&s.key, *used)
		*used++
		l.acquire(s)
	}
	return nil
}

// hold acquires keys and remembers their tokens, so many for each slot. A lane
// has its own.
type hold struct {
	keys   int
	tokens [][]uint64 // by slot, then by round
}

func newHold(l *lane, keys int) *hold {
	h := &hold{keys: keys, tokens: make([][]uint64, len(l.slots))}
	for i := range h.tokens {
		h.tokens[i] = make([]uint64, 0, keys)
	}
	return h
}

func (p *hold) next(l *lane, s *slot) error {
	tokens := &p.tokens[slotOfKey(s.key[:])]
	if s.answered == acquire {
		token, err := strconv.ParseUint(string(s.token()), 10, 64)
		if err != nil {
			return fmt.Errorf("reading a token: %w", err)
		}
		*tokens = append(*tokens, token)
		l.units++
	}
	if len(*tokens) < p.keys {
		setRound(&s.key, len(*tokens))
		l.acquire(s)
	}
	return nil
}

// giveBack releases what a hold has acquired, the last one first.
type giveBack struct{ *hold }

func (p giveBack) next(l *lane, s *slot) error {
	tokens := &p.tokens[slotOfKey(s.key[:])]
	if s.answered == release {
		l.units++
	}
	if last := len(*tokens) - 1; last >= 0 {
		setRound(&s.key, last)
		s.setToken(strconv.AppendUint(s.tokenBuf[:0], (*tokens)[last], 10))
		*tokens = (*tokens)[:last]
		l.release(s)
	}
	return nil
}

// contest is what the lanes that want one key know together.
type contest struct {
	stop     atomic.Bool
	held     atomic.Bool
	released atomic.Int64 // when the last release was sent, since epoch; 0: none
}

// contend acquires a contested key and releases it when it is granted, until the
// contest is stopped, at least once. A lane has its own, with one slot.
type contend struct {
	*contest
	gaps histogram // from a release sent to the next grant read
}

func (p *contend) next(l *lane, s *slot) error {
	switch s.answered {
	case acquire:
		return p.granted(l, s)
	case release:
		l.units++
	}
	if s.answered == resting || !p.stop.Load() {
		l.acquire(s)
	}
	return nil
}

func (p *contend) granted(l *lane, s *slot) error {
	if p.held.Swap(true) {
		return fmt.Errorf("the key %q was granted with token %s while another client held it", s.key[:], s.token())
	}
	if released := p.released.Load(); released != 0 {
		p.gaps.add(l.now - time.Duration(released))
	}
	p.held.Store(false)
	p.released.Store(int64(sinceEpoch()))
	l.release(s)
	return nil
}
