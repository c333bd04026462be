package replication_test

import (
	"context"
	"io/fs"
	"net"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/caddylock/caddylock/replication"
)

// memory is a storage that outlives its nodes.
type memory struct{ values sync.Map }

func (m *memory) Store(_ context.Context, key string, value []byte) error {
	m.values.Store(key, value)
	return nil
}

func (m *memory) Load(_ context.Context, key string) ([]byte, error) {
	value, ok := m.values.Load(key)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return value.([]byte), nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.values.Delete(key)
	return nil
}

// server is a node that serves on a loopback address, as its host does.
type server struct {
	t        *testing.T
	node     *replication.Node
	listener net.Listener
	serving  sync.WaitGroup
	stopping sync.Once

	mu    sync.Mutex
	socks map[net.Conn]struct{}
}

// serve starts a node at addr, and ends it with the test.
func serve(t *testing.T, addr string, storage *memory) *server {
	t.Helper()
	s := &server{t: t, node: replication.NewNode(), socks: make(map[net.Conn]struct{})}
	env := replication.Env{Options: replication.DefaultOptions(), Storage: storage, Prefix: "node", Log: zap.NewNop()}
	if err := s.node.Start(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.listener, err = net.Listen("tcp", addr); err != nil {
		t.Fatal(err)
	}
	s.serving.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *server) addr() string { return s.listener.Addr().String() }

func (s *server) accept() {
	for {
		sock, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.socks[sock] = struct{}{}
		s.mu.Unlock()
		s.serving.Go(func() {
			// How a connection ended is its client's to judge.
			_ = s.node.Serve(sock)
			sock.Close()
			s.mu.Lock()
			delete(s.socks, sock)
			s.mu.Unlock()
		})
	}
}

// drop cuts all connections.
func (s *server) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sock := range s.socks {
		sock.Close()
	}
}

// stop ends the node as a planned restart does.
func (s *server) stop() {
	s.t.Helper()
	s.stopping.Do(func() {
		s.listener.Close()
		if err := s.node.Shutdown(context.Background()); err != nil {
			s.t.Error(err)
		}
		s.drop()
		s.serving.Wait()
	})
}
