package load

import "time"

// Progress is how far a run is.
type Progress struct {
	// Elapsed is the time since the first request.
	Elapsed time.Duration
	// Pairs is how many were completed until now.
	Pairs int64
	// Rate is in pairs a second, since the Progress before.
	Rate float64
}

// Result is what a run has measured.
type Result struct {
	Workload Workload
	// Pairs is how many were completed, each with every reply as it had to be.
	Pairs int64
	// Elapsed is the time from the first request to the last reply.
	Elapsed time.Duration
	// Fewest and Most are the pairs of a single connection: how evenly the server
	// serves them.
	Fewest, Most int64
	// Latency is that of single requests; in contended workloads it is the time
	// from sending a release to reading the next grant.
	Latency Latency
}

// Rate returns pairs a second.
func (r *Result) Rate() float64 { return rate(r.Pairs, r.Elapsed) }

// Latency is given by percentiles, each off by at most 6%, but for Max, which is
// exact. All are 0 if nothing was measured.
type Latency struct{ P50, P90, P99, P999, Max time.Duration }

func latencyOf(h *Histogram) Latency {
	return Latency{
		P50:  h.Quantile(0.5),
		P90:  h.Quantile(0.9),
		P99:  h.Quantile(0.99),
		P999: h.Quantile(0.999),
		Max:  h.Max(),
	}
}

func rate(pairs int64, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return float64(pairs) / in.Seconds()
}
