package bench

import (
	"math/bits"
	"testing"
	"time"
)

// A histogram counts durations without allocating. A bucket is a sixteenth of an
// octave of nanoseconds wide, so a quantile is off by at most 6%.
type histogram struct {
	counts [histogramBuckets]uint64
	total  uint64
}

const (
	stepBits = 4 // 2^4 buckets an octave
	// Durations of 2^40 ns, 18 minutes, and more share the last bucket.
	histogramBuckets = (40 - stepBits + 1) << stepBits
)

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

// quantile returns the duration that a share q of all is not above.
func (h *histogram) quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.total))
	for i, n := range h.counts {
		if n > rank {
			return bucketMiddle(i)
		}
		rank -= n
	}
	return 0
}

// bucketOf: durations below 2^stepBits have a bucket each. From there on a
// bucket's number is the octave, then the stepBits below the leading bit.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	octave := max(bits.Len64(n)-1-stepBits, 0)
	return min(octave<<stepBits+int(n>>octave), histogramBuckets-1)
}

func bucketMiddle(i int) time.Duration {
	octave := max(i>>stepBits-1, 0)
	low := (i - octave<<stepBits) << octave
	return time.Duration(low + 1<<octave>>1)
}

func TestHistogramQuantilesAreWithinSixPercent(t *testing.T) {
	t.Parallel()
	var h histogram
	for i := range 100_000 {
		h.add(time.Duration(i) * time.Microsecond)
	}
	for _, q := range []float64{0.01, 0.5, 0.99} {
		want := time.Duration(q * float64(100*time.Millisecond))
		if got := h.quantile(q); got < want*94/100 || got > want*106/100 {
			t.Errorf("quantile %v of 0 to 100 ms is %v, want about %v", q, got, want)
		}
	}
}

func TestHistogramBucketsHoldTheirMiddle(t *testing.T) {
	t.Parallel()
	for i := range histogramBuckets {
		if got := bucketOf(bucketMiddle(i)); got != i {
			t.Errorf("the middle of bucket %d, %v, is in bucket %d", i, bucketMiddle(i), got)
		}
	}
}
