package client

import (
	"sync"
	"time"
)

// youngFor is how long a lock goes without a timer of its own: most are released
// before they need one.
const youngFor = 100 * time.Millisecond

// locks are the locks that a client holds: in a list while they are young, by
// token after that.
type locks struct {
	mu     sync.Mutex
	young  *Lock // the first of the list
	youngs int
	timer  *time.Timer // grows up those that are young
	ticks  bool        // the timer runs
	old    map[uint64]*Lock
	closed bool
}

func (s *locks) init() {
	s.old = make(map[uint64]*Lock)
	s.timer = time.AfterFunc(youngFor, s.growUp)
	s.timer.Stop()
}

// add takes in a lock, unless the client is closing.
func (s *locks) add(l *Lock) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if !s.ticks {
		s.ticks = true
		s.timer.Reset(youngFor)
	}
	s.youngs++
	l.young, l.younger = true, s.young
	if s.young != nil {
		s.young.older = l
	}
	s.young = l
	return true
}

func (s *locks) remove(l *Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.young {
		delete(s.old, l.token)
		return
	}
	s.youngs--
	if l.younger != nil {
		l.younger.older = l.older
	}
	if l.older != nil {
		l.older.younger = l.younger
	} else {
		s.young = l.younger
	}
	l.young, l.younger, l.older = false, nil, nil
}

// growUp gives those that were young timers of their own.
func (s *locks) growUp() {
	for _, l := range s.takeYoung() {
		l.setTimer()
	}
}

func (s *locks) takeYoung() (grown []*Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := s.young; l != nil; {
		next := l.younger
		l.young, l.younger, l.older = false, nil, nil
		s.old[l.token] = l
		grown = append(grown, l)
		l = next
	}
	s.young, s.youngs, s.ticks = nil, 0, false
	return grown
}

func (s *locks) holds(token uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := s.young; l != nil; l = l.younger {
		if l.token == token {
			return true
		}
	}
	return s.old[token] != nil
}

func (s *locks) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.old) + s.youngs
}

// close admits no more locks and returns those that are held.
func (s *locks) close() (held []*Lock) {
	s.mu.Lock()
	s.closed = true
	s.timer.Stop()
	s.mu.Unlock()
	s.takeYoung()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.old {
		held = append(held, l)
	}
	return held
}
