package replication

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// ErrStarted is returned by Start for a node that was started before.
var ErrStarted = errors.New("the lock node was started before")

// Start takes up what the node left when it was shut down last, chooses a
// generation greater than all before, and begins to serve. A storage that fails
// is a warning, not an error: locks are served without it, and tokens still
// grow by the clock.
func (n *Node) Start(ctx context.Context, env Env) error {
	if err := env.Options.Validate(); err != nil {
		return err
	}
	n.lifecycle.Lock()
	defer n.lifecycle.Unlock()
	if n.phase != unstarted {
		return ErrStarted
	}
	n.configure(env)
	generation := n.begin(ctx)
	n.background, n.stop = context.WithCancel(context.Background())
	n.running.Go(n.sweep)
	n.running.Go(n.storeBounds)
	for i := range n.shards {
		n.shards[i].open()
	}
	n.phase = serving
	env.Log.Info("lock node is active", zap.Uint64("generation", generation),
		zap.Int64("keys", n.quota.used.Load()))
	return nil
}

// begin moves to a new generation and restores the state of the last one. The
// state is void from the moment the new generation is stored; if that cannot be
// done, it is only taken up once it is deleted, for a file that stays valid
// would bring released locks back at a later start.
func (n *Node) begin(ctx context.Context) uint64 {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	n.storing.Lock()
	defer n.storing.Unlock()
	log := n.log.Load()
	last, err := n.generations.last(ctx)
	if err != nil {
		log.Warn("going on by the clock alone", zap.Error(err))
	}
	left := n.state.load(ctx, last, log)
	now := time.Now()
	generation := nextGeneration(last, now)
	n.tokens.start(generation, now)
	stored := n.storeBound(ctx, generation)
	if left == nil {
		return generation
	}
	if deleted := n.state.delete(ctx); stored != nil && deleted != nil {
		log.Error("the locks held before are not taken up: the storage cannot be written",
			zap.NamedError("storing", stored), zap.NamedError("deleting", deleted))
		return generation
	}
	n.restore(left, now)
	return generation
}

// restore fills the tables; all of the state, or nothing.
func (n *Node) restore(left *state, now time.Time) {
	log := n.log.Load()
	left.elapse(now, n.options.Load())
	if err := n.fill(left); err != nil {
		n.makeTables()
		log.Error("the locks held before are not taken up", zap.Error(err))
		return
	}
	log.Info("took up the locks held before the node was stopped", zap.Int("held", len(left.held)),
		zap.Int("waiting", len(left.waiting)), zap.Duration("stopped_for", now.Sub(left.written)))
}

func (n *Node) fill(left *state) error {
	now := n.now()
	for i := range left.held {
		h := &left.held[i]
		if err := n.shardOf(h.Key).table.RestoreHeld(now, h); err != nil {
			return fmt.Errorf("restoring the lock %q: %w", h.Key, err)
		}
	}
	for i := range left.waiting {
		w := &left.waiting[i]
		if err := n.shardOf(w.Key).table.RestoreWaiting(now, w); err != nil {
			return fmt.Errorf("restoring a waiter for %q: %w", w.Key, err)
		}
	}
	return nil
}

// Shutdown ends the node: it stops deciding, stores its state for the next
// start, writes the replies that are due, and closes all connections. It
// returns when that is done or ctx is over; connections still open then are cut.
// Calling it again, or without a start, does nothing.
func (n *Node) Shutdown(ctx context.Context) error {
	n.lifecycle.Lock()
	defer n.lifecycle.Unlock()
	if n.phase == ended {
		return nil
	}
	started := n.phase == serving
	n.phase = ended
	if !started {
		n.closeConns(ctx)
		return nil
	}
	n.stop()
	n.running.Wait()
	left := n.freeze()
	// Side by side: a storage that hangs must not cost the clients the replies
	// that are due.
	stored := make(chan error, 1)
	go func() { stored <- n.leave(ctx, left) }()
	n.closeConns(ctx)
	return <-stored
}

// freeze stops every shard from deciding and returns what they hold, for the
// bound that is in the storage or will have to be.
func (n *Node) freeze() *stateWriter {
	n.storing.Lock()
	defer n.storing.Unlock()
	if len(n.boundWanted) > 0 {
		n.boundErr = errBoundWanted
	}
	if n.boundErr != nil {
		n.bound = n.tokens.generation() + 1
	}
	w := newStateWriter(n.bound, time.Now())
	for i := range n.shards {
		s := &n.shards[i]
		now := s.freeze()
		s.table.Snapshot(now, w.heldLock, w.waitingAcquire)
		s.mu.Unlock()
	}
	return w
}

// errBoundWanted: the bound is not in the storage, and nobody has tried.
var errBoundWanted = errors.New("the bound was not stored yet")

// leave stores what the shards held for the next start, and the bound it goes
// with.
func (n *Node) leave(ctx context.Context, w *stateWriter) error {
	n.storing.Lock()
	defer n.storing.Unlock()
	if n.boundErr != nil {
		_ = n.storeBound(ctx, n.bound)
	}
	log := n.log.Load()
	if err := n.state.store(ctx, w.finish()); err != nil {
		log.Error("the locks held now are lost to the next start", zap.Int("held", w.locks), zap.Error(err))
		return err
	}
	log.Info("stored the locks held for the next start",
		zap.Int("held", w.locks), zap.Int("waiting", w.waiters))
	return nil
}

// closeConns ends every connection, gently until ctx is over.
func (n *Node) closeConns(ctx context.Context) {
	empty := n.conns.stop()
	for _, c := range n.conns.list() {
		c.finish()
	}
	select {
	case <-empty:
		return
	case <-ctx.Done():
	}
	for _, c := range n.conns.list() {
		c.abort()
	}
	<-empty
}

// storeBound makes bound the last generation. Until it can be stored, a warning:
// tokens then grow over a restart by the clock alone.
func (n *Node) storeBound(ctx context.Context, bound uint64) error {
	n.bound = bound
	n.boundErr = n.generations.store(ctx, bound)
	if n.boundErr != nil {
		n.log.Load().Warn("tokens grow by the clock alone until the storage works", zap.Error(n.boundErr))
	}
	return n.boundErr
}

// wantBound has the next bound stored soon. It never blocks: it is called
// while a shard decides.
func (n *Node) wantBound() {
	select {
	case n.boundWanted <- struct{}{}:
	default:
	}
}

// boundRetry is how long after a failure the bound is tried again.
const boundRetry = 10 * time.Second

// storeBounds stores a bound one ahead of the generation in use when it is
// wanted, and tries again until that works.
func (n *Node) storeBounds() {
	retry := time.NewTimer(boundRetry)
	defer retry.Stop()
	for {
		select {
		case <-n.background.Done():
			return
		case <-n.boundWanted:
			n.storeNextBound()
		case <-retry.C:
			if n.lacksBound() {
				n.storeNextBound()
			}
		}
		retry.Reset(boundRetry)
	}
}

func (n *Node) lacksBound() bool {
	n.storing.Lock()
	defer n.storing.Unlock()
	return n.boundErr != nil
}

func (n *Node) storeNextBound() {
	n.storing.Lock()
	defer n.storing.Unlock()
	_ = n.storeBound(n.background, n.tokens.generation()+1)
}
