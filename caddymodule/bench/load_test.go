package bench

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// drainTimeout is how long what is in flight may take once a slice is over.
const drainTimeout = 30 * time.Second

// load is a number of lanes to one server.
type load struct {
	target *process
	lanes  []*lane
}

// sample is what was measured of a load in one go.
type sample struct {
	units        int // pairs, handovers or keys
	fewest, most int // units of a lane
	elapsed      time.Duration
	cpu          time.Duration // of the server
	latency      histogram     // of single requests
	gaps         histogram     // from a release to the next grant, if contended
}

func (s *sample) rate() float64 { return float64(s.units) / s.elapsed.Seconds() }

// cpuEach returns microseconds of the server's processor time.
func (s *sample) cpuEach() float64 { return s.cpu.Seconds() * 1e6 / float64(s.units) }

// openLoad opens lanes with so many requests in flight on each. They are closed
// with the benchmark at the latest.
func openLoad(b *testing.B, target *process, connections, inFlight int) *load {
	b.Helper()
	l := &load{target: target}
	b.Cleanup(l.close)
	for i := range connections {
		lane, err := dialLane(target, i, inFlight)
		if err != nil {
			b.Fatal(err)
		}
		l.lanes = append(l.lanes, lane)
	}
	return l
}

func (l *load) close() {
	for _, lane := range l.lanes {
		lane.sock.Close()
	}
}

// run runs a plan on every lane until all are done. Somebody else stops the
// plans, in time for limit.
func (l *load) run(limit time.Duration, planOf func(lane int) plan) (*sample, error) {
	before, err := l.target.usage()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := l.runLanes(start.Add(limit), planOf); err != nil {
		return nil, fmt.Errorf("load on the %s: %w", l.target.role, err)
	}
	s := &sample{elapsed: time.Since(start), fewest: l.lanes[0].units}
	after, err := l.target.usage()
	if err != nil {
		return nil, err
	}
	s.cpu = after.cpu - before.cpu
	for _, lane := range l.lanes {
		s.units += lane.units
		s.fewest, s.most = min(s.fewest, lane.units), max(s.most, lane.units)
		s.latency.merge(&lane.latency)
	}
	if s.units == 0 {
		return nil, fmt.Errorf("load on the %s: nothing was done in %s", l.target.role, s.elapsed)
	}
	return s, nil
}

func (l *load) runLanes(deadline time.Time, planOf func(lane int) plan) error {
	errs := make([]error, len(l.lanes))
	var running sync.WaitGroup
	for i, lane := range l.lanes {
		_ = lane.sock.SetDeadline(deadline)
		running.Go(func() { errs[i] = lane.run(planOf(i)) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// runPairs acquires and releases free keys for a time.
func (l *load) runPairs(d time.Duration) (*sample, error) {
	var p pairs
	timer := time.AfterFunc(d, func() { p.stop.Store(true) })
	defer timer.Stop()
	return l.run(d+drainTimeout, func(int) plan { return &p })
}
