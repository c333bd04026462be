package replication

import (
	"github.com/caddylock/caddylock/lockcore"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// answer fills in the answer to an effect. Effects that answer nobody have none.
func answer(r *wire.Reply, e *lockcore.Effect) {
	r.Tag, r.Token, r.Key = e.Tag, e.Token, e.Key
	switch e.Kind {
	case lockcore.Granted, lockcore.Regranted:
		r.Kind = wire.KindGranted
	case lockcore.TimedOut:
		r.Kind = wire.KindTimeout
	case lockcore.Released:
		r.Kind = wire.KindReleased
	case lockcore.Kept:
		r.Kind = wire.KindKept
	case lockcore.Cancelled:
		r.Kind, r.Target = wire.KindCancelled, e.Acquire
	case lockcore.Queried:
		r.Kind, r.Left, r.Waiters = wire.KindQueried, e.Lease, e.Waiters
	case lockcore.Refused:
		r.Kind = wire.KindError
		r.Op, r.Code = ops[e.Op], refusals[e.Refusal]
	default:
		panic("replication: an effect that answers nobody has a connection")
	}
}

// refusals and ops spell what the table says.
var (
	refusals = map[lockcore.Refusal]wire.Code{
		lockcore.NotHeld:        wire.CodeNotHeld,
		lockcore.Taken:          wire.CodeTaken,
		lockcore.TooManyKeys:    wire.CodeTooManyKeys,
		lockcore.TooManyWaiters: wire.CodeTooManyWaiters,
	}
	ops = map[lockcore.Op]wire.Op{
		lockcore.OpAcquire: wire.OpAcquire,
		lockcore.OpRelease: wire.OpRelease,
		lockcore.OpKeep:    wire.OpKeep,
	}
)
