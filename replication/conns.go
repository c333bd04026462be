package replication

import "sync"

// conns is every client connection that is served.
type conns struct {
	mu      sync.Mutex
	open    map[*Conn]struct{}
	stopped bool
	// empty is closed when the last connection has ended after stop.
	empty chan struct{}
}

func (cs *conns) add(c *Conn, limit int) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case cs.stopped:
		return ErrStopped
	case len(cs.open) >= limit:
		return ErrTooManyConnections
	}
	cs.open[c] = struct{}{}
	return nil
}

func (cs *conns) remove(c *Conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.open, c)
	if cs.stopped && len(cs.open) == 0 {
		close(cs.empty)
	}
}

// list returns the connections of this moment.
func (cs *conns) list() []*Conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	all := make([]*Conn, 0, len(cs.open))
	for c := range cs.open {
		all = append(all, c)
	}
	return all
}

// stop lets no connection in any more. The channel closes when the last one has
// ended. It must be called only once.
func (cs *conns) stop() <-chan struct{} {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.stopped = true
	if len(cs.open) == 0 {
		close(cs.empty)
	}
	return cs.empty
}
