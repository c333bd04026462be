package client

import "sync/atomic"

// Stats counts what a client has done since it was made.
type Stats struct {
	// Connections are those to lock servers now; Held the locks held now.
	Connections, Held int
	// Acquired, TimedOut and Lost count locks; Released also those released by
	// their token alone.
	Acquired, TimedOut, Released, Lost uint64
	// Renewed counts renewals, RenewalFailures the tries that brought none: a few
	// are no loss.
	Renewed, RenewalFailures uint64
	// Refused and Unavailable count calls that ended so.
	Refused, Unavailable uint64
	// Dials counts connections tried; DialFailures those that came to nothing,
	// Connects those made.
	Dials, DialFailures, Connects uint64
	// Moves counts how often the active node became another; Redirects the answers
	// that named it.
	Moves, Redirects uint64
	// Strays counts grants that no call waited for any more and that were released
	// at once.
	Strays uint64
}

type counters struct {
	acquired, timedOut, released, lost atomic.Uint64
	renewed, renewalFailures           atomic.Uint64
	refused, unavailable               atomic.Uint64
	dials, dialFailures, connects      atomic.Uint64
	moves, redirects, strays           atomic.Uint64
}

// Stats returns the counters, for one's own metrics.
func (c *Client) Stats() Stats {
	n := &c.count
	return Stats{
		Connections: c.routes.connections(), Held: c.locks.size(),
		Acquired: n.acquired.Load(), TimedOut: n.timedOut.Load(),
		Released: n.released.Load(), Lost: n.lost.Load(),
		Renewed: n.renewed.Load(), RenewalFailures: n.renewalFailures.Load(),
		Refused: n.refused.Load(), Unavailable: n.unavailable.Load(),
		Dials: n.dials.Load(), DialFailures: n.dialFailures.Load(), Connects: n.connects.Load(),
		Moves: n.moves.Load(), Redirects: n.redirects.Load(), Strays: n.strays.Load(),
	}
}

func (r *routes) connections() (open int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.links() {
		if l.conn != nil {
			open++
		}
	}
	return open
}
