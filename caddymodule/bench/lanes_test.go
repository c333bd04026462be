package bench

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/caddylock/caddylock/caddymodule/load"
)

const (
	// lease of every acquire: longer than any benchmark.
	lease = time.Hour
	// drainTimeout is how long what is in flight may take once a slice is over.
	drainTimeout = 30 * time.Second
)

// lanes is a load on one server.
type lanes struct {
	target *process
	all    []*load.Lane
}

// sample is what was measured of a load in one go.
type sample struct {
	units        int64 // pairs, handovers or keys
	fewest, most int64 // units of a lane
	elapsed      time.Duration
	cpu          time.Duration  // of the server
	latency      load.Histogram // of single requests
	gaps         load.Histogram // from a release to the next grant, if contended
}

func (s *sample) rate() float64 { return float64(s.units) / s.elapsed.Seconds() }

// cpuEach returns microseconds of the server's processor time.
func (s *sample) cpuEach() float64 { return s.cpu.Seconds() * 1e6 / float64(s.units) }

// openLanes opens lanes with so many requests in flight on each, each about a key
// of its own. They are closed with the benchmark at the latest.
func openLanes(b *testing.B, target *process, connections, inFlight int) *lanes {
	b.Helper()
	return open(b, target, connections, func(i int) load.LaneConfig {
		return load.LaneConfig{Number: i, Slots: inFlight, Lease: lease}
	})
}

func open(b *testing.B, target *process, connections int, configOf func(lane int) load.LaneConfig) *lanes {
	b.Helper()
	l := &lanes{target: target}
	b.Cleanup(l.close)
	for i := range connections {
		lane, err := dialLane(target, configOf(i))
		if err != nil {
			b.Fatalf("opening lane %d to the %s: %v", i, target.role, err)
		}
		l.all = append(l.all, lane)
	}
	return l
}

func dialLane(target *process, config load.LaneConfig) (*load.Lane, error) {
	if target.role == roleEcho {
		config.ReadGrant = readEcho
	}
	conn, err := net.Dial("tcp", target.addr)
	if err != nil {
		return nil, err
	}
	return load.NewLane(conn, config)
}

func (l *lanes) close() {
	for _, lane := range l.all {
		lane.Conn().Close()
	}
}

// run runs a plan on every lane until all are done. Somebody else stops the
// plans, in time for limit.
func (l *lanes) run(limit time.Duration, planOf func(lane int) load.Plan) (*sample, error) {
	before, err := l.target.usage()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := l.runAll(start.Add(limit), planOf); err != nil {
		return nil, fmt.Errorf("load on the %s: %w", l.target.role, err)
	}
	s := &sample{elapsed: time.Since(start), fewest: l.all[0].Units()}
	after, err := l.target.usage()
	if err != nil {
		return nil, err
	}
	s.cpu = after.cpu - before.cpu
	for _, lane := range l.all {
		units := lane.Units()
		s.units += units
		s.fewest, s.most = min(s.fewest, units), max(s.most, units)
		s.latency.Merge(lane.Latency())
	}
	if s.units == 0 {
		return nil, fmt.Errorf("load on the %s: nothing was done in %s", l.target.role, s.elapsed)
	}
	return s, nil
}

func (l *lanes) runAll(deadline time.Time, planOf func(lane int) load.Plan) error {
	errs := make([]error, len(l.all))
	var running sync.WaitGroup
	for i, lane := range l.all {
		_ = lane.Conn().SetDeadline(deadline)
		running.Go(func() { errs[i] = lane.Run(planOf(i)) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// runPairs acquires and releases free keys for a time.
func (l *lanes) runPairs(d time.Duration) (*sample, error) {
	var p load.Pairs
	timer := time.AfterFunc(d, p.Stop)
	defer timer.Stop()
	return l.run(d+drainTimeout, func(int) load.Plan { return &p })
}
