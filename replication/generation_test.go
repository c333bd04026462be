package replication

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/lockcore"
)

func TestTheNextGenerationIsGreaterThanTheLastAndTheClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last uint64
		now  int64
		want uint64
	}{
		"a first start":                      {0, 1796097600, 1796097600},
		"a start after a while":              {1796097600, 1796097700, 1796097700},
		"a start in the same second":         {1796097600, 1796097600, 1796097601},
		"a clock that was set back":          {1796097600, 5, 1796097601},
		"a clock before the epoch":           {0, -5, 1},
		"a clock at the epoch":               {0, 0, 1},
		"the last second believed":           {0, believable, believable},
		"a clock too far ahead":              {0, believable + 1, 1},
		"a clock too far ahead, with a file": {7, 1 << 40, 8},
		"a clock at the end of time":         {0, 1<<63 - 1, 1},
	} {
		if got := nextGeneration(c.last, time.Unix(c.now, 999)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestAGenerationThatIsNoneIsReportedAndCountsAsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "-1", " 1", "1\n", "1.5", "18446744073709551616", "8589934591"} {
		storage := newFakeStorage()
		storage.put("generation", text)
		g := generations{storage: storage, key: "generation"}
		if last, err := g.last(context.Background()); err == nil || last != 0 {
			t.Errorf("%q is read as %d, error %v", text, last, err)
		}
	}
}

func TestAGenerationIsReadAsItWasStored(t *testing.T) {
	t.Parallel()
	g := generations{storage: newFakeStorage(), key: "generation"}
	if last, err := g.last(context.Background()); err != nil || last != 0 {
		t.Errorf("an empty storage has the generation %d, error %v", last, err)
	}
	for _, bound := range []uint64{1, 1796097600, believable} {
		if err := g.store(context.Background(), bound); err != nil {
			t.Fatal(err)
		}
		if last, err := g.last(context.Background()); err != nil || last != bound {
			t.Errorf("%d is read as %d, error %v", bound, last, err)
		}
	}
}

// TestTokensGrowOverEveryStart: whatever the clock says and the storage does,
// as long as one of both remembers.
func TestTokensGrowOverEveryStart(t *testing.T) {
	t.Parallel()
	for _, remembered := range []string{"", "5", "946684800", "1796097600", strconv.FormatUint(believable-10, 10)} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t)
			if remembered != "" {
				h.storage.put("generation", remembered)
			}
			before, _ := strconv.ParseUint(remembered, 10, 64)
			newest := lockcore.Token(before, lockcore.MaxPlaces-1, counterMask)
			for start := range 4 {
				time.Sleep(time.Millisecond)
				h.start()
				newest = greaterToken(t, h, newest)
				if start%2 == 0 {
					h.kill()
				} else {
					_ = h.stop()
				}
			}
		})
	}
}

// greaterToken fails unless the node's next token is greater than the newest so
// far, and returns it.
func greaterToken(t *testing.T, h *host, newest uint64) uint64 {
	t.Helper()
	c := h.dial()
	c.send("A 0.001 try a key of its own\n")
	synctest.Wait()
	line, _ := c.next()
	token, err := strconv.ParseUint(tokenOf(t, line), 10, 63)
	if err != nil || token <= newest {
		t.Fatalf("the token %d follows %d (%v)", token, newest, err)
	}
	time.Sleep(time.Millisecond)
	return token
}

// TestAGenerationBeyondTheClockIsBelievedAtTheNextStart: a clock may be at the very
// end of what is believed, and tokens must go on growing when it was corrected.
func TestAGenerationBeyondTheClockIsBelievedAtTheNextStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.storage.put("generation", strconv.FormatUint(believable, 10))
		newest := uint64(0)
		for range 3 {
			h.start()
			newest = greaterToken(t, h, newest)
			h.kill()
		}
	})
}
