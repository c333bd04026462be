package command

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/caddylock/caddylock/caddymodule/load"
)

// write prints the results; nothing if there are none.
func (b *bench) write(results []load.Result) error {
	if b.json {
		return b.writeJSON(results)
	}
	if len(results) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(b.sys.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "workload\tseconds\tpairs\tpairs/s\tp50\tp90\tp99\tp99.9\tmax\tfewest/conn\tmost/conn\t\n")
	for _, r := range results {
		l := r.Latency
		fmt.Fprintf(table, "%s\t%.1f\t%d\t%.0f\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t\n",
			r.Workload, r.Elapsed.Seconds(), r.Pairs, r.Rate(),
			short(l.P50), short(l.P90), short(l.P99), short(l.P999), short(l.Max), r.Fewest, r.Most)
	}
	return table.Flush()
}

// short drops digits that a latency does not have.
func short(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100)
		}
	}
	return d
}

// benchResult is a result in JSON; times are in nanoseconds.
type benchResult struct {
	Workload  string  `json:"workload"`
	ElapsedNS int64   `json:"elapsed_ns"`
	Pairs     int64   `json:"pairs"`
	Rate      float64 `json:"pairs_per_second"`
	Fewest    int64   `json:"fewest_pairs_of_a_connection"`
	Most      int64   `json:"most_pairs_of_a_connection"`
	P50       int64   `json:"p50_ns"`
	P90       int64   `json:"p90_ns"`
	P99       int64   `json:"p99_ns"`
	P999      int64   `json:"p999_ns"`
	Max       int64   `json:"max_ns"`
}

func (b *bench) writeJSON(results []load.Result) error {
	for _, r := range results {
		l := r.Latency
		line := jsonLine(benchResult{
			r.Workload.String(), int64(r.Elapsed), r.Pairs, r.Rate(), r.Fewest, r.Most,
			int64(l.P50), int64(l.P90), int64(l.P99), int64(l.P999), int64(l.Max),
		})
		if _, err := b.sys.stdout.Write(line); err != nil {
			return err
		}
	}
	return nil
}
