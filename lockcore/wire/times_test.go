package wire

import (
	"math"
	"strings"
	"testing"
	"time"
)

// times are read the same as a lease and as a wait.
var times = []struct {
	text string
	want time.Duration
}{
	{"0.001", time.Millisecond}, {"0.01", 10 * time.Millisecond}, {"0.010", 10 * time.Millisecond},
	{"0.1", 100 * time.Millisecond}, {"0.25", 250 * time.Millisecond}, {"0.999", 999 * time.Millisecond},
	{"1", time.Second}, {"1.0", time.Second}, {"1.000", time.Second}, {"1.001", 1001 * time.Millisecond},
	{"30", 30 * time.Second}, {"30.5", 30500 * time.Millisecond}, {"90.125", 90125 * time.Millisecond},
	{"030", 30 * time.Second}, {"00.5", 500 * time.Millisecond}, {"000000000000000000000030.500", 30500 * time.Millisecond},
	{"86400", 24 * time.Hour}, {"2147483647.999", 1<<31*time.Second - time.Millisecond},
	{"2147483648", 1 << 31 * time.Second}, {"2147483648.000", 1 << 31 * time.Second},
}

func TestALeaseIsReadToTheMillisecond(t *testing.T) {
	t.Parallel()
	for _, c := range times {
		if got := mustRead(t, "A "+c.text+" try k").Lease; got != c.want {
			t.Errorf("A %s: lease %v, want %v", c.text, got, c.want)
		}
		if got := mustRead(t, "K 17 "+c.text+" k").Lease; got != c.want {
			t.Errorf("K %s: lease %v, want %v", c.text, got, c.want)
		}
	}
}

func TestAWaitIsReadToTheMillisecond(t *testing.T) {
	t.Parallel()
	for _, c := range times {
		if got := mustRead(t, "A 30 "+c.text+" k").Wait; got != c.want {
			t.Errorf("%s: wait %v, want %v", c.text, got, c.want)
		}
	}
}

// How long a lease may be is for the server to say; here it only has to fit.
func TestALeaseMayBeAsLongAsADuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"2147483648.001": 1<<31*time.Second + time.Millisecond,
		"9223372036":     9223372036 * time.Second,
		"9223372036.854": math.MaxInt64 / time.Millisecond * time.Millisecond,
	} {
		if got := mustRead(t, "A "+text+" 0 k").Lease; got != want {
			t.Errorf("%s: lease %v, want %v", text, got, want)
		}
	}
}

// roundings are how times are written: up, so that none becomes 0.
var roundings = []struct {
	d    time.Duration
	want string
}{
	{1, "0.001"}, {time.Microsecond, "0.001"}, {time.Millisecond - 1, "0.001"}, {time.Millisecond, "0.001"},
	{time.Millisecond + 1, "0.002"}, {10 * time.Millisecond, "0.01"}, {100 * time.Millisecond, "0.1"},
	{120 * time.Millisecond, "0.12"}, {101 * time.Millisecond, "0.101"}, {110*time.Millisecond + 1, "0.111"},
	{time.Second - 1, "1"}, {time.Second, "1"}, {time.Second + 1, "1.001"}, {10 * time.Second, "10"},
	{28250 * time.Millisecond, "28.25"}, {time.Hour, "3600"}, {1<<31*time.Second - 1, "2147483648"}, {1 << 31 * time.Second, "2147483648"},
}

func TestTimesAreRoundedUp(t *testing.T) {
	t.Parallel()
	for _, c := range roundings {
		acquire := request(Request{Op: OpAcquire, Lease: c.d, Wait: c.d, Key: []byte("k")})
		if want := "A " + c.want + " " + c.want + " k\n"; acquire != want {
			t.Errorf("got %q, want %q", acquire, want)
		}
		keep := request(Request{Op: OpKeep, Token: 1, Lease: c.d, Key: []byte("k")})
		if want := "K 1 " + c.want + " k\n"; keep != want {
			t.Errorf("got %q, want %q", keep, want)
		}
		query := reply(Reply{Kind: KindQueried, Token: 1, Left: c.d, Key: []byte("k")})
		if want := "Q 1 " + c.want + " 0 k\n"; query != want {
			t.Errorf("got %q, want %q", query, want)
		}
	}
}

func TestAWaitThatIsOverIsTry(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		0: "try", -1: "try", -time.Hour: "try", math.MinInt64: "try",
		Forever: "0", Forever - 1: "2147483648", MaxWait + 1: "2147483648",
	} {
		got := request(Request{Op: OpAcquire, Lease: time.Second, Wait: wait, Key: []byte("k")})
		if want := "A 1 " + want + " k\n"; got != want {
			t.Errorf("%d: got %q, want %q", wait, got, want)
		}
	}
}

// No duration, however long, is written as one that would be refused or is shorter
// by more than the rounding of the
func TestAnyPositiveLeaseIsReadAsALease(t *testing.T) {
	t.Parallel()
	for d := time.Duration(1); d > 0; d *= 2 {
		for _, lease := range []time.Duration{d, d + d/3, math.MaxInt64 - d + 1} {
			line := request(Request{Op: OpKeep, Token: 1, Lease: lease, Key: []byte("k")})
			got := mustRead(t, strings.TrimSuffix(line, "\n")).Lease
			rounded := got >= lease && got-lease < time.Millisecond
			cut := lease > got && lease-got < time.Millisecond && got > math.MaxInt64-time.Millisecond
			if !rounded && !cut {
				t.Errorf("%d is written %q", lease, line)
			}
		}
	}
}

func TestALeaseThatIsOverIsLeftWith0(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{0, -1, math.MinInt64} {
		if got := reply(Reply{Kind: KindQueried, Left: left, Key: []byte("k")}); got != "Q 0 0 0 k\n" {
			t.Errorf("%d: got %q", left, got)
		}
	}
}

// What does not fit a Duration must not turn into one in the past.
func TestALeaseLeftThatDoesNotFitIsNoReply(t *testing.T) {
	t.Parallel()
	for _, left := range []string{
		"9223372036.855", "9223372037", "9223372037.001", "9223372045", "18446744073.709", "18446744074", maxUint, overUint, "36893488147419103233",
	} {
		var r Reply
		if err := ParseReply([]byte("Q 1 "+left+" 0 k"), &r); err == nil {
			t.Errorf("%s: read as %v", left, r.Left)
		}
	}
}

// expectLine compares lines.
func expectLine(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", clip(got), clip(want))
	}
}
