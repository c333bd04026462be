package replication

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"sync"
)

// fakeStorage is a Storage in memory that fails or hangs where it is told to.
type fakeStorage struct {
	mu     sync.Mutex
	files  map[string][]byte
	faults map[access]fault
}

// access is one thing done to one file.
type access struct{ op, key string }

// fault is how an access goes wrong.
type fault string

const (
	fails fault = "fails"
	// hangs lasts until the caller's context ends.
	hangs fault = "hangs"
)

var errBroken = errors.New("the storage is broken")

func newFakeStorage() *fakeStorage {
	return &fakeStorage{files: make(map[string][]byte), faults: make(map[access]fault)}
}

// copy returns a storage with the same files and no faults.
func (s *fakeStorage) copy() *fakeStorage {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := newFakeStorage()
	c.files = maps.Clone(s.files)
	return c
}

func (s *fakeStorage) breakAt(op, key string, f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[access{op, key}] = f
}

func (s *fakeStorage) repair() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.faults)
}

// put writes a file behind the node's back.
func (s *fakeStorage) put(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[key] = []byte(value)
}

// get reads a file behind the node's back; "" if there is none.
func (s *fakeStorage) get(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.files[key])
}

func (s *fakeStorage) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.files[key]
	return ok
}

func (s *fakeStorage) enter(ctx context.Context, op, key string) error {
	s.mu.Lock()
	f := s.faults[access{op, key}]
	s.mu.Unlock()
	switch f {
	case fails:
		return errBroken
	case hangs:
		<-ctx.Done()
	}
	return ctx.Err()
}

func (s *fakeStorage) Store(ctx context.Context, key string, value []byte) error {
	if err := s.enter(ctx, "store", key); err != nil {
		return err
	}
	s.put(key, string(value))
	return nil
}

func (s *fakeStorage) Load(ctx context.Context, key string) ([]byte, error) {
	if err := s.enter(ctx, "load", key); err != nil {
		return nil, err
	}
	if !s.has(key) {
		return nil, fs.ErrNotExist
	}
	return []byte(s.get(key)), nil
}

func (s *fakeStorage) Delete(ctx context.Context, key string) error {
	if err := s.enter(ctx, "delete", key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, key)
	return nil
}
