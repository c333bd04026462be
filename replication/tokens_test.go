package replication

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/lockcore"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// newTokens returns a counter, and how often it said that it is nearly full.
func newTokens(generation uint64, now time.Time) (c *tokenCounter, announced *int) {
	announced = new(int)
	c = &tokenCounter{onNearlyFull: func() { *announced++ }}
	c.start(generation, now)
	return c, announced
}

func TestTokensGrowAndBelongToTheirGeneration(t *testing.T) {
	t.Parallel()
	c, announced := newTokens(1796097600, time.Unix(0, 0))
	before := uint64(0)
	for range 1000 {
		token := c.Next()
		if token <= before || lockcore.TokenGeneration(token) != 1796097600 {
			t.Fatalf("the token %d follows %d", token, before)
		}
		before = token
	}
	if *announced > 0 {
		t.Error("a fresh counter says that it is nearly full")
	}
}

func TestAFullCounterGoesOnInTheNextGeneration(t *testing.T) {
	t.Parallel()
	c, announced := newTokens(5, time.Unix(0, 0))
	c.packed.Store(5<<lockcore.CounterBits | nearlyFull - 1)
	c.Next()
	c.packed.Store(5<<lockcore.CounterBits | counterMask - 1)
	last, first := c.Next(), c.Next()
	if last != lockcore.Token(5, 0, counterMask) || first != lockcore.Token(6, 0, 0) {
		t.Errorf("the tokens around the end are %d and %d", last, first)
	}
	if *announced != 1 || c.generation() != 6 {
		t.Errorf("announced %d times, now at %d", *announced, c.generation())
	}
}

func TestTheGreatestTokenFitsASignedColumn(t *testing.T) {
	t.Parallel()
	c, _ := newTokens(lockcore.MaxGeneration, time.Unix(0, 0))
	c.place = lockcore.MaxPlaces - 1
	c.packed.Store(lockcore.MaxGeneration<<lockcore.CounterBits | counterMask - 1)
	if token := c.Next(); token != wire.MaxToken {
		t.Errorf("the greatest token is %d, want %d", token, uint64(wire.MaxToken))
	}
}

func TestANodesPlaceIsInItsTokens(t *testing.T) {
	t.Parallel()
	c, _ := newTokens(7, time.Unix(0, 0))
	c.place = 3
	if token := c.Next(); token != lockcore.Token(7, 3, 1) {
		t.Errorf("got %d", token)
	}
}

// TestAStartInTheSameSecondBeginsAboveTheTokensBefore: with its storage lost, a
// node knows nothing but the time.
func TestAStartInTheSameSecondBeginsAboveTheTokensBefore(t *testing.T) {
	t.Parallel()
	before := uint64(0)
	for millis := range int64(1000) {
		c, _ := newTokens(7, time.UnixMilli(millis))
		for range 100 {
			token := c.Next()
			if token <= before || lockcore.TokenGeneration(token) != 7 {
				t.Fatalf("at %d ms the token %d follows %d", millis, token, before)
			}
			before = token
		}
	}
}

func TestTokensAreIssuedOnceHoweverManyAsk(t *testing.T) {
	t.Parallel()
	const askers, each = 8, 20_000
	c := &tokenCounter{onNearlyFull: func() {}}
	c.packed.Store(9<<lockcore.CounterBits | counterMask - askers*each/2)
	issued := make([][]uint64, askers)
	var asking sync.WaitGroup
	for i := range issued {
		asking.Go(func() {
			for range each {
				issued[i] = append(issued[i], c.Next())
			}
		})
	}
	asking.Wait()
	for _, tokens := range issued {
		if !slices.IsSorted(tokens) {
			t.Error("one asker's tokens do not grow")
		}
	}
	all := slices.Concat(issued...)
	slices.Sort(all)
	if len(slices.Compact(all)) != askers*each {
		t.Error("a token was issued twice")
	}
}

// No counter starts beyond the point where it announces the next generation.
func TestACounterStartsBeforeItIsNearlyFull(t *testing.T) {
	t.Parallel()
	c, _ := newTokens(1, time.Unix(0, int64(time.Second)-1))
	if start := c.packed.Load() & counterMask; start >= nearlyFull {
		t.Errorf("a counter starts at %d, and is nearly full at %d", start, uint64(nearlyFull))
	}
}

func TestTheNextGenerationIsStoredBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		generation := h.node.tokens.generation()
		mustBeStored(t, h, generation)
		newest := nearlyFillCounter(t, h)
		synctest.Wait()
		mustBeStored(t, h, generation+1)
		newest = carry(t, h, newest)
		if h.node.tokens.generation() != generation+1 {
			t.Error("the counter did not carry")
		}
		h.kill()
		h.start()
		greaterToken(t, h, newest)
	})
}

func TestABoundThatCannotBeStoredIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{fails, hangs} {
		synctest.Test(t, func(t *testing.T) {
			h := startedHost(t)
			h.storage.breakAt("store", "generation", f)
			newest := carry(t, h, nearlyFillCounter(t, h))
			time.Sleep(storageTimeout)
			h.storage.repair()
			time.Sleep(boundRetry)
			synctest.Wait()
			mustBeStored(t, h, h.node.tokens.generation()+1)
			h.kill()
			h.start()
			greaterToken(t, h, newest)
		})
	}
}

func TestAStopAfterACarryLosesNoLock(t *testing.T) {
	t.Parallel()
	for range 50 {
		h := startedHost(t)
		p := h.phone()
		h.node.tokens.packed.Store(h.node.tokens.generation()<<lockcore.CounterBits | nearlyFull - 1)
		p.acquire("30", "x")
		h.node.tokens.packed.Store(h.node.tokens.generation()<<lockcore.CounterBits | counterMask)
		p.acquire("30", "y")
		p.hangUp()
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		h.start()
		if held, _ := h.count(); held != 2 {
			t.Fatalf("%d locks are held after the restart, want 2", held)
		}
		h.kill()
	}
}

// nearlyFillCounter has the counter announce the next generation, and returns the
// token that did it.
func nearlyFillCounter(t *testing.T, h *host) uint64 {
	t.Helper()
	h.node.tokens.packed.Store(h.node.tokens.generation()<<lockcore.CounterBits | nearlyFull - 1)
	return greaterToken(t, h, 0)
}

// carry uses the generation up and returns the first token of the next.
func carry(t *testing.T, h *host, newest uint64) uint64 {
	t.Helper()
	h.node.tokens.packed.Store(h.node.tokens.generation()<<lockcore.CounterBits | counterMask)
	return greaterToken(t, h, newest)
}

func mustBeStored(t *testing.T, h *host, bound uint64) {
	t.Helper()
	if got := h.storage.get("generation"); got != strconv.FormatUint(bound, 10) {
		t.Errorf("the generation stored is %s, want %d", got, bound)
	}
}

func TestAQuotaIsNeverExceededHoweverManyTake(t *testing.T) {
	t.Parallel()
	var q keyQuota
	q.max.Store(10)
	var taking sync.WaitGroup
	for range 8 {
		taking.Go(func() {
			for range 1000 {
				if q.Take() {
					if q.used.Load() < 1 {
						t.Error("taken, and nothing is counted")
					}
					q.Return()
				}
			}
		})
	}
	taking.Wait()
	for range 10 {
		if !q.Take() {
			t.Fatal("a quota that is not used up is refused")
		}
	}
	if q.Take() {
		t.Error("a quota that is used up is given")
	}
}
