package fence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestMemoryJudgesTokens(t *testing.T) {
	t.Parallel()
	var m Memory
	for i, step := range []struct {
		resource string
		token    uint64
		want     error
	}{
		{"a", 5, nil},
		{"a", 5, nil},
		{"a", 4, ErrStale},
		{"b", 1, nil},
		{"a", 7, nil},
		{"a", 6, ErrStale},
		{"a", 7, nil},
		{"a", 0, ErrBadToken},
		{"a", MaxToken + 1, ErrBadToken},
		{"a", MaxToken, nil},
		{"b", 1, nil},
		{"", 3, nil},
		{"", 2, ErrStale},
	} {
		ran := false
		err := m.Do(step.resource, step.token, func() error { ran = true; return nil })
		if !errors.Is(err, step.want) || ran != (step.want == nil) {
			t.Errorf("step %d: Do(%q, %d) = %v, ran %t; want %v", i, step.resource, step.token, err, ran, step.want)
		}
	}
}

func TestMemoryTellsTheGreatestToken(t *testing.T) {
	t.Parallel()
	var m Memory
	if err := m.Check("a", 9); err != nil {
		t.Fatal(err)
	}
	var stale *StaleError
	if err := m.Check("a", 8); !errors.As(err, &stale) || *stale != (StaleError{"a", 8, 9}) {
		t.Errorf("got %#v", err)
	}
}

func TestMemoryRemembersTokensOfWorkThatFailed(t *testing.T) {
	t.Parallel()
	var m Memory
	failure := errors.New("disk full")
	if err := m.Do("a", 2, func() error { return failure }); err != failure {
		t.Errorf("got %v, want the error of the function as it is", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = m.Do("a", 3, func() error { panic("bug") })
	}()
	if err := m.Check("a", 2); !errors.Is(err, ErrStale) {
		t.Errorf("after a panic: got %v, want ErrStale", err)
	}
	if err := m.Check("a", 3); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

// TestMemoryWritesNeverGoBackwards relies on the race detector, too: the writes
// are not synchronised by anything but the Memory.
func TestMemoryWritesNeverGoBackwards(t *testing.T) {
	t.Parallel()
	const writers, writes, resources, tokens = 16, 300, 4, 5000
	var m Memory
	written := make([][]uint64, resources)
	var greatest [resources]atomic.Uint64
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for range writes {
				r, token := rand.IntN(resources), rand.Uint64N(tokens)+1
				err := m.Do(fmt.Sprint(r), token, func() error {
					written[r] = append(written[r], token)
					return nil
				})
				switch {
				case err == nil:
					storeMax(&greatest[r], token)
				case !errors.Is(err, ErrStale):
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	for r := range resources {
		assertNeverBackwards(t, written[r], greatest[r].Load())
	}
}

func storeMax(a *atomic.Uint64, n uint64) {
	for old := a.Load(); n > old && !a.CompareAndSwap(old, n); old = a.Load() {
		continue
	}
}

func assertNeverBackwards(t *testing.T, written []uint64, last uint64) {
	t.Helper()
	for i := 1; i < len(written); i++ {
		if written[i] < written[i-1] {
			t.Errorf("token %d wrote after %d", written[i], written[i-1])
		}
	}
	if len(written) == 0 || written[len(written)-1] != last {
		t.Errorf("%d writes, the last of them not by %d", len(written), last)
	}
}

func TestMemoryExcludesPerResourceOnly(t *testing.T) {
	t.Parallel()
	var m Memory
	end := make(chan struct{})
	var ran atomic.Bool
	var running sync.WaitGroup
	running.Go(func() { _ = m.Do("a", 1, func() error { <-end; return nil }) })
	awaitUsers(t, &m, "a", 1)
	running.Go(func() { _ = m.Do("a", 2, func() error { ran.Store(true); return nil }) })
	awaitUsers(t, &m, "a", 2)
	if err := m.Check("b", 1); err != nil {
		t.Errorf("another resource: %v", err)
	}
	if ran.Load() {
		t.Error("two functions ran at once for one resource")
	}
	close(end)
	running.Wait()
	if !ran.Load() {
		t.Error("the second function never ran")
	}
}

// awaitUsers waits until so many calls for a resource run or wait.
func awaitUsers(t *testing.T, m *Memory, resource string, want int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); m.usersOf(resource) != want; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d calls for %q, want %d", m.usersOf(resource), resource, want)
		}
	}
}

func (m *Memory) usersOf(resource string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entries[resource]; e != nil {
		return e.users
	}
	return 0
}

func TestMemoryForgets(t *testing.T) {
	t.Parallel()
	var m Memory
	_ = m.Check("a", 9)
	m.Forget("a")
	m.Forget("never seen")
	if m.Len() != 0 {
		t.Errorf("%d resources left", m.Len())
	}
	if err := m.Check("a", 1); err != nil {
		t.Errorf("after Forget: %v", err)
	}
}

// TestMemoryExcludesWhileForgetting would fail if Forget took an entry away from
// those that wait for it: the next Do would make a second one.
func TestMemoryExcludesWhileForgetting(t *testing.T) {
	t.Parallel()
	const writers, writes = 8, 500
	var m Memory
	var inside atomic.Int32
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for i := range writes {
				_ = m.Do("a", 1, func() error {
					if inside.Add(1) != 1 {
						t.Error("two functions ran at once for one resource")
					}
					runtime.Gosched()
					inside.Add(-1)
					return nil
				})
				if i%3 == 0 {
					m.Forget("a")
				}
			}
		})
	}
	running.Wait()
	m.Forget("a")
	if m.Len() != 0 {
		t.Errorf("%d resources left", m.Len())
	}
}

func TestMemoryRefusesMoreResourcesThanItMayRemember(t *testing.T) {
	t.Parallel()
	m := Memory{MaxResources: 2}
	_ = m.Check("a", 5)
	_ = m.Check("b", 5)
	if err := m.Check("c", 6); !errors.Is(err, ErrFull) {
		t.Errorf("a third resource: got %v, want ErrFull", err)
	}
	if err := m.Check("a", 6); err != nil {
		t.Errorf("a known resource: %v", err)
	}
	if err := m.Check("b", 4); !errors.Is(err, ErrStale) {
		t.Errorf("a known resource: got %v, want ErrStale", err)
	}
	m.Forget("b")
	if err := m.Check("c", 6); err != nil {
		t.Errorf("in the place of one forgotten: %v", err)
	}
}
