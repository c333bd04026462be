package replication

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddylock/caddylock/lockcore"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// Env is what a node is run with. It may change while the node runs.
type Env struct {
	Options Options
	Storage Storage
	// Prefix is put before the storage keys: it names the node.
	Prefix string
	Log    *zap.Logger
}

// Node is one lock server: a cluster of one. It is made by NewNode, started
// once, and shut down once; before the start and after the end it answers that
// it is not ready. All methods may be called concurrently.
type Node struct {
	options atomic.Pointer[Options]
	log     atomic.Pointer[zap.Logger]
	// expiryLog is log for what clients can cause at any rate.
	expiryLog atomic.Pointer[zap.Logger]

	// origin is the zero of the node's monotonic clock.
	origin time.Time
	shards [numShards]shard
	tokens tokenCounter
	quota  keyQuota

	clients clients
	conns   conns

	// lifecycle guards phase, and is held over a start, a change and an end.
	lifecycle sync.Mutex
	phase     phase

	// storing guards what is in the storage. bound is the generation stored
	// last, boundErr why that failed.
	storing     sync.Mutex
	generations generations
	state       stateStore
	bound       uint64
	boundErr    error

	// background ends with background work; boundWanted wakes the storing of
	// the next bound.
	background  context.Context
	stop        context.CancelFunc
	running     sync.WaitGroup
	boundWanted chan struct{}
}

// phase is how far a node has got.
type phase uint8

const (
	unstarted phase = iota
	serving
	ended
)

// NewNode returns a node that has not been started. It has no resources that
// would have to be given back.
func NewNode() *Node {
	n := &Node{
		origin:      time.Now(),
		clients:     clients{byID: make(map[string]*client)},
		conns:       conns{open: make(map[*Conn]struct{}), empty: make(chan struct{})},
		boundWanted: make(chan struct{}, 1),
	}
	n.tokens.onNearlyFull = n.wantBound
	options := DefaultOptions()
	n.options.Store(&options)
	n.quota.max.Store(int64(options.MaxKeys))
	n.setLog(zap.NewNop())
	n.makeTables()
	return n
}

func (n *Node) makeTables() {
	for i := range n.shards {
		s := &n.shards[i]
		s.mu.Lock()
		s.node = n
		s.table = lockcore.NewTable(&n.tokens, &n.quota, n.options.Load().limits())
		s.armed = lockcore.Never
		s.mu.Unlock()
	}
	n.quota.used.Store(0)
}

// now is the present instant of the node's monotonic clock.
func (n *Node) now() lockcore.Instant { return lockcore.Instant(time.Since(n.origin)) }

// Reconfigure makes other options count, from now on, for everybody.
func (n *Node) Reconfigure(env Env) {
	n.lifecycle.Lock()
	defer n.lifecycle.Unlock()
	n.configure(env)
	// The storage may be another one, which does not know the generation yet.
	n.wantBound()
}

func (n *Node) configure(env Env) {
	n.options.Store(&env.Options)
	n.setLog(env.Log)
	n.quota.max.Store(int64(env.Options.MaxKeys))
	storage := boundedStorage{env.Storage}
	n.storing.Lock()
	n.generations = generations{storage: storage, key: env.Prefix + "generation"}
	n.state = stateStore{storage: storage, key: env.Prefix + "state"}
	n.storing.Unlock()
	for i := range n.shards {
		s := &n.shards[i]
		s.mu.Lock()
		s.table.SetLimits(env.Options.limits())
		s.mu.Unlock()
	}
}

// describe fills in what H answers: the role, and who is active.
func (n *Node) describe(r *wire.Reply) {
	r.Generation = n.tokens.generation()
	r.Role, r.Active = wire.RoleStandby, []byte("?")
	if n.Serving() {
		r.Role, r.Active = wire.RoleActive, []byte("-")
	}
}

// Serving reports whether the node decides about locks.
func (n *Node) Serving() bool {
	s := &n.shards[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serving
}

// expiry is an expired lease that somebody waited for.
type expiry struct {
	key, client, addr string
	token             uint64
	waiters           int
}

func expiryOf(e *lockcore.Effect) expiry {
	return expiry{
		key: string(e.Key), client: e.Owner.Client, addr: e.Owner.Addr, token: e.Token, waiters: e.Waiters,
	}
}

// A client can let leases expire as fast as it can ask for them: of their log
// lines a second sees so many at first, and then every so manyth.
const (
	firstExpiries = 10
	everyExpiry   = 1000
)

func (n *Node) setLog(log *zap.Logger) {
	n.log.Store(log)
	n.expiryLog.Store(log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, firstExpiries, everyExpiry)
	})))
}

func (n *Node) logExpiry(e expiry) {
	n.expiryLog.Load().Info("lease expired while others waited",
		zap.String("key", e.key), zap.Uint64("token", e.token), zap.Int("waiters", e.waiters),
		zap.String("client", e.client), zap.String("client_addr", e.addr))
}
