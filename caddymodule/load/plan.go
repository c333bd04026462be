package load

import (
	"sync/atomic"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// Plan decides what the slots of a lane do. Lanes may share one if it says so.
type Plan interface {
	// Next is called on the lane's goroutine for each slot at the start and after
	// each answer to it, but for refusals. It sends the slot's next request by
	// Acquire or Release, or none: then the slot is done.
	Next(*Lane, *Slot) error
}

// Pairs acquires and releases the slot's key until it is stopped, at least once.
// Its units are pairs. Lanes share it.
type Pairs struct{ stopped atomic.Bool }

// Stop lets every slot end with the pair it is in.
func (p *Pairs) Stop() { p.stopped.Store(true) }

// Next implements Plan.
func (p *Pairs) Next(l *Lane, s *Slot) error {
	if s.Answered() == wire.OpAcquire {
		l.Release(s)
		return nil
	}
	if s.Answered() == wire.OpRelease {
		l.Count()
	}
	if s.Answered() == resting || !p.stopped.Load() {
		l.Acquire(s)
	}
	return nil
}
