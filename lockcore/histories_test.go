package lockcore

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"
)

var seedFlag = flag.Uint64("seed", 0, "replay the one random history of this seed and print its steps")

// stepsPerHistory is short enough for a failure to be read.
const stepsPerHistory = 60

func seeded(seed uint64) *history {
	return newHistory(rand.New(rand.NewPCG(seed, 0)))
}

// TestTableDoesWhatItsTwinDoes replays random histories. A failure names its
// seed; -seed prints the history of one.
func TestTableDoesWhatItsTwinDoes(t *testing.T) {
	t.Parallel()
	if *seedFlag != 0 {
		h := seeded(*seedFlag)
		h.log = t.Logf
		if err := runOrPanic(h); err != nil {
			t.Fatal(err)
		}
		return
	}
	const shards = 8
	for shard := range uint64(shards) {
		t.Run(fmt.Sprintf("shard %d", shard), func(t *testing.T) {
			t.Parallel()
			for i := range histories() / shards {
				replay(t, 1+i*shards+shard)
			}
		})
	}
}

func histories() uint64 {
	switch {
	case testing.Short():
		return 2_000
	case raceEnabled:
		return 4_000
	default:
		return 60_000
	}
}

func replay(t *testing.T, seed uint64) {
	if err := runOrPanic(seeded(seed)); err != nil {
		t.Fatalf("seed %d: %v\nsee its steps: go test ./lockcore -v -run TestTableDoesWhatItsTwinDoes -seed %d", seed, err, seed)
	}
}

// runOrPanic makes an error of a panic, so that its seed is known.
func runOrPanic(h *history) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("panic: %v\n%s", why, debug.Stack())
		}
	}()
	return h.run(stepsPerHistory)
}
