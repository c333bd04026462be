package load

import (
	"math/bits"
	"time"
)

const (
	stepBits = 4 // 2^4 buckets an octave
	// Durations of 2^40 ns, 18 minutes, and more share the last bucket.
	histogramBuckets = (40 - stepBits + 1) << stepBits
)

// A Histogram counts durations without allocating. A bucket is a sixteenth of an
// octave of nanoseconds wide, so a quantile is off by at most 6%. The zero value
// is empty. One goroutine uses it at a time.
type Histogram struct {
	counts [histogramBuckets]uint64
	total  uint64
	max    time.Duration
}

// Add counts a duration; one below 0 counts as 0.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.max = max(h.max, d)
}

// Merge adds what another histogram has counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.max = max(h.max, other.max)
}

// Max returns the longest duration, exactly; 0 if there was none.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns the duration that a share q of all, from 0 to 1, is not above;
// 0 if there was none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.total))
	for i, n := range h.counts {
		if n > rank {
			return min(bucketMiddle(i), h.max)
		}
		rank -= n
	}
	return h.max
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
