package lockcore

import (
	"math"
	"time"
)

// Instant is a moment on the monotonic clock of one node, in nanoseconds since
// an origin of that node's choosing. It is not a wall-clock time and means
// nothing on another node: what travels between nodes is a [time.Duration].
type Instant int64

// Never is later than every other Instant.
const Never Instant = math.MaxInt64

// Forever is a wait without limit.
const Forever time.Duration = math.MaxInt64

// Add returns the instant d after i. It saturates at Never, so that no lease
// and no wait, however long, overflows into the past.
func (i Instant) Add(d time.Duration) Instant {
	if d > 0 && i > Never-Instant(d) {
		return Never
	}
	return i + Instant(d)
}

// Until returns the time from now to i: Forever for Never, 0 once i has passed.
func (i Instant) Until(now Instant) time.Duration {
	switch {
	case i == Never:
		return Forever
	case i <= now:
		return 0
	default:
		return time.Duration(i - now)
	}
}

// Since returns the time from earlier to i: at least 0, and Forever at most.
func (i Instant) Since(earlier Instant) time.Duration {
	switch since := i - earlier; {
	case i < earlier:
		return 0
	case since < 0: // earlier is before the origin, by a lot
		return Forever
	default:
		return time.Duration(since)
	}
}
