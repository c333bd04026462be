package replication

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/caddylock/caddylock/lockcore"
)

// stopTime is how long a test gives a node to shut down.
const stopTime = 5 * time.Second

// host is a machine: it runs one node after the other, over one storage.
type host struct {
	tb      testing.TB
	node    *Node
	options Options
	storage *fakeStorage
	logs    *observer.ObservedLogs
	log     *zap.Logger
	served  sync.WaitGroup
}

// newHost returns a machine whose node is not started yet. What runs on it at
// the end of the test is killed.
func newHost(tb testing.TB) *host {
	core, logs := observer.New(zapcore.InfoLevel)
	h := &host{
		tb: tb, node: NewNode(), options: DefaultOptions(), storage: newFakeStorage(), logs: logs, log: zap.New(core),
	}
	tb.Cleanup(h.kill)
	return h
}

// startedHost returns a machine whose node serves.
func startedHost(tb testing.TB) *host {
	h := newHost(tb)
	h.start()
	return h
}

func (h *host) env() Env {
	return Env{Options: h.options, Storage: h.storage, Log: h.log}
}

// start starts the node, a new one if the last one has ended.
func (h *host) start() {
	h.tb.Helper()
	if h.node.phase == ended {
		h.node = NewNode()
	}
	if err := h.node.Start(context.Background(), h.env()); err != nil {
		h.tb.Fatalf("starting the node: %v", err)
	}
}

// stop shuts the node down as an operator does.
func (h *host) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := h.node.Shutdown(ctx)
	h.served.Wait()
	return err
}

// kill ends the node as kill -9 does: nothing is stored, no goodbye is said.
func (h *host) kill() {
	h.node.lifecycle.Lock()
	defer h.node.lifecycle.Unlock()
	if h.node.phase == serving {
		h.node.stop()
		h.node.running.Wait()
	}
	if h.node.phase != ended {
		for i := range h.node.shards {
			h.node.shards[i].freeze()
			h.node.shards[i].mu.Unlock()
		}
		h.node.phase = ended
		over, cancel := context.WithCancel(context.Background())
		cancel()
		h.node.closeConns(over)
	}
	h.served.Wait()
}

// serve has the node serve one connection, and closes it then, as Caddy does.
func (h *host) serve(sock halfCloser) {
	node := h.node
	h.served.Go(func() {
		lent := &lentConn{halfCloser: sock, tb: h.tb}
		err := node.Serve(lent)
		lent.returned.Store(true)
		_ = sock.Close()
		if err != nil && !errors.Is(err, ErrTooManyConnections) && !errors.Is(err, ErrStopped) {
			h.tb.Errorf("serving a connection: %v", err)
		}
	})
}

// listen serves TCP on a port of the loopback until the test ends.
func (h *host) listen() (addr string) {
	h.tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.tb.Fatal(err)
	}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for sock, err := listener.Accept(); err == nil; sock, err = listener.Accept() {
			h.serve(sock.(*net.TCPConn))
		}
	}()
	h.tb.Cleanup(func() {
		_ = listener.Close()
		<-accepting
	})
	return listener.Addr().String()
}

// check fails the test if an invariant of a table does not hold.
func (h *host) check() {
	h.tb.Helper()
	for i := range h.node.shards {
		s := &h.node.shards[i]
		s.mu.Lock()
		err := s.table.Check()
		s.mu.Unlock()
		if err != nil {
			h.tb.Errorf("shard %d: %v", i, err)
		}
	}
}

// count returns how many locks are held and how many acquires wait.
func (h *host) count() (held, waiting int) {
	for i := range h.node.shards {
		s := &h.node.shards[i]
		s.mu.Lock()
		s.table.Snapshot(s.latest, func(*lockcore.Held) { held++ }, func(*lockcore.Waiting) { waiting++ })
		s.mu.Unlock()
	}
	return held, waiting
}

// isEmpty reports whether nothing is held, waited for or counted.
func (h *host) isEmpty() bool {
	held, waiting := h.count()
	return held == 0 && waiting == 0 && h.node.quota.used.Load() == 0
}

// warned reports whether the message was logged, as a warning or worse.
func (h *host) warned(message string) bool {
	for _, entry := range h.logs.FilterMessage(message).All() {
		if entry.Level >= zapcore.WarnLevel {
			return true
		}
	}
	return false
}

// warnings are all messages logged as warnings or worse.
func (h *host) warnings() []string {
	var messages []string
	for _, entry := range h.logs.All() {
		if entry.Level >= zapcore.WarnLevel {
			messages = append(messages, entry.Message)
		}
	}
	return messages
}
