package lockcore

import (
	"math/rand/v2"
	"testing"
)

// The reference is a Go map. Few keys and many changes make runs of slots that
// wrap around the end, and grow and shrink the index all the time.
func TestTheIndexFindsWhatIsInItAndNothingElse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		x, reference := newIndex(), make(map[string]*lock)
		for range 20_000 {
			key := numbered(random.IntN(1 + random.IntN(600)))
			if l := reference[string(key)]; l != nil {
				x.remove(l)
				delete(reference, string(key))
			} else {
				l := &lock{key: string(key)}
				x.add(l)
				reference[l.key] = l
			}
			if probe := numbered(random.IntN(600)); x.find(probe) != reference[string(probe)] {
				t.Fatalf("seed %d: key %s is not what it should be", seed, probe)
			}
		}
		compareIndex(t, &x, reference)
	}
}

func compareIndex(t *testing.T, x *index, reference map[string]*lock) {
	t.Helper()
	if x.count != len(reference) {
		t.Errorf("%d locks counted, %d are there", x.count, len(reference))
	}
	for key, l := range reference {
		if x.find([]byte(key)) != l {
			t.Errorf("%s is not found", key)
		}
	}
}

func TestTheIndexIsNeverFullAndNeverMuchTooLarge(t *testing.T) {
	t.Parallel()
	x := newIndex()
	locks := make([]*lock, 10_000)
	for i := range locks {
		locks[i] = &lock{key: string(numbered(i))}
		x.add(locks[i])
		checkFill(t, &x)
	}
	for _, l := range locks {
		x.remove(l)
		checkFill(t, &x)
	}
	if len(x.locks) != minIndexSlots {
		t.Errorf("an empty index has %d slots", len(x.locks))
	}
}

func checkFill(t *testing.T, x *index) {
	t.Helper()
	slots := len(x.locks)
	if x.count*8 > slots*7 || slots > minIndexSlots && x.count*8 < slots*3-8 {
		t.Fatalf("%d locks in %d slots", x.count, slots)
	}
}
