package load

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// Contest is what the lanes that want one key know together.
type Contest struct {
	stopped  atomic.Bool
	held     atomic.Bool
	last     token        // of the last grant to anybody; belongs to who has set held
	released atomic.Int64 // when the last release was sent, since epoch; 0: none
}

// Stop lets every lane end with the pair it is in.
func (c *Contest) Stop() { c.stopped.Store(true) }

// Contender is the plan of one lane in a contest: it acquires a key and releases
// it when it is granted, until the contest is stopped, at least once. Its units
// are handovers. A lane has its own, and one slot.
type Contender struct {
	contest *Contest
	gaps    Histogram
}

// NewContender returns the plan for one more lane.
func (c *Contest) NewContender() *Contender { return &Contender{contest: c} }

// Gaps returns the times from a release sent, by anybody, to this lane's next
// grant read. It may be read when the lane's Run has returned.
func (p *Contender) Gaps() *Histogram { return &p.gaps }

// Next implements Plan.
func (p *Contender) Next(l *Lane, s *Slot) error {
	switch s.Answered() {
	case wire.OpAcquire:
		return p.granted(l, s)
	case wire.OpRelease:
		l.Count()
	}
	if s.Answered() == resting || !p.contest.stopped.Load() {
		l.Acquire(s)
	}
	return nil
}

func (p *Contender) granted(l *Lane, s *Slot) error {
	c := p.contest
	if c.held.Swap(true) {
		return fmt.Errorf("the key %q was granted with token %s while another client held it", s.key, s.Token())
	}
	if !c.last.isBelow(s.Token()) {
		return fmt.Errorf("the key %q was granted with token %s after token %s", s.key, s.Token(), c.last.text())
	}
	c.last.set(s.Token())
	if released := c.released.Load(); released != 0 {
		p.gaps.Add(l.now - time.Duration(released))
	}
	c.held.Store(false)
	c.released.Store(int64(sinceEpoch()))
	l.Release(s)
	return nil
}
