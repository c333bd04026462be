package bench

import (
	"testing"
	"time"

	"github.com/caddylock/caddylock/caddymodule/load"
)

// slicer puts a load on a server for a time.
type slicer func(time.Duration) (*sample, error)

// round is one slice of each, one right after the other.
type round struct{ echo, server *sample }

// alternate runs slices of echo and server in turn. The first slices of both,
// shorter ones, warm up and do not count.
func alternate(b *testing.B, echo, server slicer) []round {
	b.Helper()
	oneRound(b, echo, server, *sliceLength/5)
	taken := make([]round, *rounds)
	for i := range taken {
		taken[i] = oneRound(b, echo, server, *sliceLength)
	}
	return taken
}

func oneRound(b *testing.B, echo, server slicer, d time.Duration) round {
	b.Helper()
	var r round
	var err error
	if r.echo, err = echo(d); err != nil {
		b.Fatal(err)
	}
	if r.server, err = server(d); err != nil {
		b.Fatal(err)
	}
	return r
}

// addRounds adds what rounds say of the rate and the processor time of a unit.
func (f figures) addRounds(taken []round, unit string) {
	for _, r := range taken {
		f.add(unit+"s/s", r.server.rate())
		f.add("echo-pairs/s", r.echo.rate())
		f.add("server-µs/"+unit, r.server.cpuEach())
		f.add("echo-µs/pair", r.echo.cpuEach())
		f.add("cpu-ratio", r.server.cpuEach()/r.echo.cpuEach())
	}
}

// latencies puts the request latencies of rounds together.
func latencies(taken []round) (echo, server load.Histogram) {
	for _, r := range taken {
		echo.Merge(&r.echo.latency)
		server.Merge(&r.server.latency)
	}
	return echo, server
}
