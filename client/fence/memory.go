package fence

import (
	"errors"
	"fmt"
	"sync"
)

// Guard admits writes by their tokens.
type Guard interface {
	// Do runs fn, unless the resource has seen a token greater than this one (the
	// error then matches ErrStale), or no lock can have it (ErrBadToken). While fn
	// runs, no other one runs for the same resource. The error of fn is returned
	// as it is.
	Do(resource string, token uint64, fn func() error) error
}

var _ Guard = (*Memory)(nil)

// DefaultMaxResources is how many resources a Memory remembers unless it is told
// otherwise.
const DefaultMaxResources = 1 << 20

// ErrFull means that a Memory remembers as many resources as it may, and the one
// asked about is not among them.
var ErrFull = errors.New("fence remembers as many resources as it may")

// Memory is a Guard in the memory of one process, for what only this process can
// write and what ends with it. The zero value is ready. Several goroutines may
// use it.
//
// It is not persistent: after a restart it has seen nothing, and the first token
// that comes passes, whether it is stale or not. Where the resource outlives the
// process, so must the token: see SQL, and the example of a file.
type Memory struct {
	// MaxResources is how many resources are remembered, DefaultMaxResources if it
	// is 0. Beyond it, resources not seen before are refused with ErrFull: to make
	// room silently would be to drop the protection of some other resource. Set it
	// before first use.
	MaxResources int

	mu      sync.Mutex
	entries map[string]*entry
}

// entry is what is known of a resource. There is only ever one for a name: it
// leaves the map when nobody uses it and it knows nothing.
type entry struct {
	// users hold or wait for running; guarded by the mutex of Memory.
	users int

	// running is held while the function of a Do runs.
	running sync.Mutex
	// greatest token seen, 0 if none; belongs to the holder of running, or, with
	// the mutex of Memory held, to nobody else if there are no users.
	greatest uint64
}

// Check remembers the token, or refuses it as Do does. It waits while a Do runs
// for the resource. What the caller does afterwards is not guarded: a greater
// token can come between. Use Do, unless the caller excludes others by itself.
func (m *Memory) Check(resource string, token uint64) error {
	return m.Do(resource, token, func() error { return nil })
}

// Do runs fn if the token is not smaller than the greatest that the resource has
// seen. It waits while another Do runs for the same resource, and not for others;
// fn must not call the Memory for the same resource again. The token stays
// remembered whatever fn returns, also if it panics.
func (m *Memory) Do(resource string, token uint64, fn func() error) error {
	if err := validate(token); err != nil {
		return err
	}
	e, err := m.enter(resource)
	if err != nil {
		return err
	}
	defer m.leave(resource, e)
	if token < e.greatest {
		return &StaleError{Resource: resource, Token: token, Greatest: e.greatest}
	}
	e.greatest = token
	return fn()
}

// Forget drops what is known of a resource, after a Do that runs for it. From
// then on the first token that comes passes, so forget only what cannot be
// written any more: a deleted order whose number is not used again, for example.
func (m *Memory) Forget(resource string) {
	m.mu.Lock()
	e := m.entries[resource]
	if e == nil {
		m.mu.Unlock()
		return
	}
	e.users++
	m.mu.Unlock()
	e.running.Lock()
	e.greatest = 0
	m.leave(resource, e)
}

// Len tells how many resources are remembered.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
}

// enter returns the entry of a resource with running held.
func (m *Memory) enter(resource string) (*entry, error) {
	m.mu.Lock()
	e := m.entries[resource]
	if e == nil {
		if len(m.entries) >= m.limit() {
			m.mu.Unlock()
			return nil, fmt.Errorf("%w: %d", ErrFull, m.limit())
		}
		if m.entries == nil {
			m.entries = make(map[string]*entry)
		}
		e = new(entry)
		m.entries[resource] = e
	}
	e.users++
	m.mu.Unlock()
	e.running.Lock()
	return e, nil
}

func (m *Memory) leave(resource string, e *entry) {
	e.running.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	e.users--
	if e.users == 0 && e.greatest == 0 {
		delete(m.entries, resource)
	}
}

func (m *Memory) limit() int {
	if m.MaxResources == 0 {
		return DefaultMaxResources
	}
	return m.MaxResources
}
