package bench

import (
	"testing"
	"time"
)

// openContested opens lanes with one slot each, all with the key of the first.
func openContested(b *testing.B, server *process, clients int) *load {
	b.Helper()
	l := openLoad(b, server, clients, 1)
	for _, lane := range l.lanes {
		lane.slots[0].key = l.lanes[0].slots[0].key
	}
	return l
}

// runHandovers lets the lanes, which want one key, pass it around for a time.
func (l *load) runHandovers(d time.Duration) (*sample, error) {
	var shared contest
	plans := make([]contend, len(l.lanes))
	for i := range plans {
		plans[i].contest = &shared
	}
	timer := time.AfterFunc(d, func() { shared.stop.Store(true) })
	defer timer.Stop()
	s, err := l.run(d+drainTimeout, func(lane int) plan { return &plans[lane] })
	if err != nil {
		return nil, err
	}
	for i := range plans {
		s.gaps.merge(&plans[i].gaps)
	}
	return s, nil
}

// benchmarkContended compares a handover, whose lines are those of one pair, with
// a pair on as many connections to the echo, and with one on a single connection:
// there, too, each line has to wait for the one before it.
func benchmarkContended(b *testing.B, echo, server *process, clients int) {
	onServer := openContested(b, server, clients)
	onEcho, single := openLoad(b, echo, clients, 1), openLoad(b, echo, 1, 1)
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
	var gaps histogram
	for _, r := range taken {
		f.add("fairness", float64(r.server.most)/float64(r.server.fewest))
		gaps.merge(&r.server.gaps)
	}
	f.micros("p50-µs", gaps.quantile(0.5))
	f.micros("p99-µs", gaps.quantile(0.99))
}
