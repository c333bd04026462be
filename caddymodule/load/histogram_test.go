package load

import (
	"testing"
	"time"
)

func TestHistogramQuantilesAreWithinSixPercent(t *testing.T) {
	t.Parallel()
	var h Histogram
	for i := range 100_000 {
		h.Add(time.Duration(i) * time.Microsecond)
	}
	for _, q := range []float64{0.01, 0.5, 0.99} {
		want := time.Duration(q * float64(100*time.Millisecond))
		if got := h.Quantile(q); got < want*94/100 || got > want*106/100 {
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

func TestHistogramQuantilesDoNotExceedTheMax(t *testing.T) {
	t.Parallel()
	const longest = 1<<20 + 1 // the least of its bucket
	var h, merged Histogram
	h.Add(longest)
	merged.Merge(&h)
	for _, q := range []float64{0, 0.5, 1} {
		if got := merged.Quantile(q); got > longest || got < longest*94/100 {
			t.Errorf("quantile %v of one duration of %v is %v", q, time.Duration(longest), got)
		}
	}
	if got := merged.Max(); got != longest {
		t.Errorf("the longest duration is %v, want %v", got, time.Duration(longest))
	}
}

func TestAnEmptyHistogramSaysZero(t *testing.T) {
	t.Parallel()
	var h Histogram
	if h.Quantile(0.5) != 0 || h.Quantile(1) != 0 || h.Max() != 0 {
		t.Errorf("median %v, all %v, longest %v of nothing", h.Quantile(0.5), h.Quantile(1), h.Max())
	}
}
