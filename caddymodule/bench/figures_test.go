package bench

import (
	"slices"
	"testing"
	"time"
)

// figures collects measurements by unit and reports their medians.
type figures map[string][]float64

func (f figures) add(unit string, value float64) {
	f[unit] = append(f[unit], value)
}

// micros adds a duration under a unit of microseconds.
func (f figures) micros(unit string, d time.Duration) {
	f.add(unit, float64(d)/float64(time.Microsecond))
}

// report gives the medians to b. The time a benchmark took says nothing: it is
// set by flags.
func (f figures) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	for unit, values := range f {
		b.ReportMetric(median(values), unit)
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func TestMedianIsTheMiddleOfTheValues(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{3: {3}, 2: {9, 1, 2}, 2.5: {4, 1, 2, 3}} {
		if got := median(values); got != want {
			t.Errorf("median of %v is %v, want %v", values, got, want)
		}
	}
}
