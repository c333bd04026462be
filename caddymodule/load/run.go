package load

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

const (
	progressInterval = time.Second
	// drainTimeout is how long what is in flight may take after the end.
	drainTimeout = 10 * time.Second
	// failedDrainTimeout is the same once a connection has failed. It is short
	// because the others may wait for a key that was lost with it.
	failedDrainTimeout = 2 * time.Second
	// randomChars of a run's key prefix have 65 random bits.
	randomChars = 13
)

// Run opens the connections of a workload, keeps it up for a time and measures
// it. Every reply is checked; the first one that is wrong, refuses something
// (RefusedError, MovedError), or does not come because its connection broke, ends
// the run with an error that names the connection.
//
// If ctx ends, no new pair is begun, everything that is held is released, and
// the error matches that of ctx (context.Cause). With every error once the
// connections were open, the result holds what was completed until then.
//
// Run returns within 10 seconds of the end of Duration or ctx, and within 2 of a
// failure, as long as Dial keeps to its context. What it could not release until then is held until its
// lease ends, under a key that nobody else uses. Several runs may go on at once.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, fmt.Errorf("starting the load: %w", err)
	}
	c = c.withDefaults()
	r := &run{config: c, lanes: make([]*Lane, 0, c.Workload.Connections)}
	defer r.close()
	if err := r.open(ctx); err != nil {
		return Result{}, err
	}
	return r.measure(ctx)
}

// run is one call of Run.
type run struct {
	config Config
	lanes  []*Lane
	plans  plans
	begin  time.Time
	ended  chan outcome
	before Progress
}

// outcome is how a lane ended.
type outcome struct {
	lane int
	err  error
}

func (r *run) open(ctx context.Context) error {
	prefix := "bench/" + rand.Text()[:randomChars] + "/"
	for i := range r.config.Workload.Connections {
		if err := r.openLane(ctx, i, prefix); err != nil {
			return fmt.Errorf("opening connection %d of %d: %w", i+1, r.config.Workload.Connections, err)
		}
	}
	return nil
}

func (r *run) openLane(ctx context.Context, i int, prefix string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	conn, err := r.config.Dial(ctx)
	if err != nil {
		return err
	}
	lane, err := NewLane(conn, LaneConfig{
		Number: r.config.Workload.laneNumber(i),
		Slots:  r.config.Workload.InFlight,
		Prefix: prefix,
		Lease:  r.config.Lease,
	})
	if err != nil {
		_ = conn.Close()
		return err
	}
	r.lanes = append(r.lanes, lane)
	return nil
}

func (r *run) close() {
	for _, lane := range r.lanes {
		_ = lane.conn.Close()
	}
}

func (r *run) measure(ctx context.Context) (Result, error) {
	r.plans = newPlans(r.config.Workload)
	r.ended = make(chan outcome, len(r.lanes))
	r.begin = time.Now()
	for i, lane := range r.lanes {
		go func() { r.ended <- outcome{i, lane.Run(r.plans.of[i])} }()
	}
	err := r.supervise(ctx)
	return r.result(), err
}

// supervise returns when all lanes have ended. What comes first, the end or ctx,
// is the end; a failure shortens what is left of the time to drain.
func (r *run) supervise(ctx context.Context) error {
	end, ticks := time.NewTimer(r.config.Duration), time.NewTicker(progressInterval)
	defer end.Stop()
	defer ticks.Stop()
	ending, done := end.C, ctx.Done()
	stop := func(limit time.Duration) {
		ending, done = nil, nil
		r.stop(limit)
	}
	var early, failure error
	for running := len(r.lanes); running > 0; {
		select {
		case o := <-r.ended:
			running--
			if o.err != nil && failure == nil {
				failure = r.named(o)
				stop(failedDrainTimeout)
			}
		case <-ending:
			stop(drainTimeout)
		case <-done:
			early = fmt.Errorf("the load ended early: %w", context.Cause(ctx))
			stop(drainTimeout)
		case <-ticks.C:
			r.progress()
		}
	}
	return both(early, failure)
}

// both is one sentence of what happened first and then.
func both(early, failure error) error {
	switch {
	case early == nil:
		return failure
	case failure == nil:
		return early
	default:
		return fmt.Errorf("%w; then %w", early, failure)
	}
}

// named says which connection it was.
func (r *run) named(o outcome) error {
	conn := r.lanes[o.lane].conn
	return fmt.Errorf("connection %d of %d, %s: %w", o.lane+1, len(r.lanes), conn.RemoteAddr(), o.err)
}

// stop lets the lanes end with the pairs they are in, within a time.
func (r *run) stop(limit time.Duration) {
	r.plans.stop()
	deadline := time.Now().Add(limit)
	for _, lane := range r.lanes {
		_ = lane.conn.SetDeadline(deadline)
	}
}

func (r *run) progress() {
	p := Progress{Elapsed: time.Since(r.begin)}
	for _, lane := range r.lanes {
		p.Pairs += lane.Units()
	}
	p.Rate = rate(p.Pairs-r.before.Pairs, p.Elapsed-r.before.Elapsed)
	r.before = p
	r.config.Progress(p)
}

func (r *run) result() Result {
	result := Result{Workload: r.config.Workload, Elapsed: time.Since(r.begin), Fewest: r.lanes[0].Units()}
	for _, lane := range r.lanes {
		units := lane.Units()
		result.Pairs += units
		result.Fewest, result.Most = min(result.Fewest, units), max(result.Most, units)
	}
	result.Latency = latencyOf(r.latency())
	return result
}

func (r *run) latency() *Histogram {
	var all Histogram
	for i, lane := range r.lanes {
		if contender, ok := r.plans.of[i].(*Contender); ok {
			all.Merge(contender.Gaps())
		} else {
			all.Merge(lane.Latency())
		}
	}
	return &all
}

// plans are those of a workload's lanes.
type plans struct {
	of   []Plan
	stop func()
}

func newPlans(w Workload) plans {
	p := plans{of: make([]Plan, w.Connections)}
	pairs, contest := &Pairs{}, &Contest{}
	for i := range p.of {
		p.of[i] = pairs
		if w.Contended {
			p.of[i] = contest.NewContender()
		}
	}
	p.stop = func() { pairs.Stop(); contest.Stop() }
	return p
}
