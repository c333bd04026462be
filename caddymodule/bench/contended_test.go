package bench

import (
	"testing"
	"time"

	"github.com/caddylock/caddylock/caddymodule/load"
)

// openContested opens lanes with one slot each, all with the same key.
func openContested(b *testing.B, server *process, clients int) *lanes {
	b.Helper()
	return open(b, server, clients, func(int) load.LaneConfig {
		return load.LaneConfig{Slots: 1, Lease: lease}
	})
}

// runHandovers lets the lanes, which want one key, pass it around for a time.
func (l *lanes) runHandovers(d time.Duration) (*sample, error) {
	var contest load.Contest
	contenders := make([]*load.Contender, len(l.all))
	for i := range contenders {
		contenders[i] = contest.NewContender()
	}
	timer := time.AfterFunc(d, contest.Stop)
	defer timer.Stop()
	s, err := l.run(d+drainTimeout, func(lane int) load.Plan { return contenders[lane] })
	if err != nil {
		return nil, err
	}
	for _, c := range contenders {
		s.gaps.Merge(c.Gaps())
	}
	return s, nil
}

// benchmarkContended compares a handover, whose lines are those of one pair, with
// a pair on as many connections to the echo, and with one on a single connection:
// there, too, each line has to wait for the one before it.
func benchmarkContended(b *testing.B, echo, server *process, clients int) {
	onServer := openContested(b, server, clients)
	onEcho, single := openLanes(b, echo, clients, 1), openLanes(b, echo, 1, 1)
	f := figures{}
	for b.Loop() {
		taken := alternate(b, onEcho.runPairs, onServer.runHandovers)
		f.addRounds(taken, "handover")
		f.addHandovers(taken)
		for _, r := range alternate(b, single.runPairs, onServer.runHandovers) {
			f.add("echo-1x1-µs/pair", r.echo.cpuEach())
			f.add("cpu-ratio-1x1", r.server.cpuEach()/r.echo.cpuEach())
		}
	}
	f.report(b)
}

func (f figures) addHandovers(taken []round) {
	var gaps load.Histogram
	for _, r := range taken {
		f.add("fairness", float64(r.server.most)/float64(r.server.fewest))
		gaps.Merge(&r.server.gaps)
	}
	f.micros("p50-µs", gaps.Quantile(0.5))
	f.micros("p99-µs", gaps.Quantile(0.99))
}
