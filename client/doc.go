// Package client uses a caddylock server or cluster: it acquires locks, keeps them,
// tells when one is lost, and gives them back.
//
//	locks, err := client.New([]string{"lock1:7301", "lock2:7301"})
//	...
//	err = locks.Do(ctx, "reports/daily", func(ctx context.Context) error {
//		return writeReport(ctx, client.TokenFrom(ctx))
//	})
//
// # Words
//
// A lock is held for a lease, which the client renews. It ends when it is
// released, detached (left to its lease) or lost: the lease ran out by this
// process's own monotonic clock, or the server said that it is not held any more.
// The fencing token of a grant is greater than that of every grant before, of any
// key. A wait is how long an acquire waits for the holders before it; patience
// ([WithUnavailableAfter]) is how long a call looks for a server.
//
// # What a lock is worth
//
// The client notices at once when a lock is lost, if the program runs at all. A
// program that was stopped (a long garbage collection, a suspended machine) goes
// on writing for a moment after its lease is over, before anything can tell it;
// and at the moment of a failover or a partition two clients can hold one key for
// a short time. Where that must not matter, the protected resource keeps the
// greatest token it has seen and refuses smaller ones: see the package fence.
//
// # What goes on behind
//
// One connection for each address (two for a single one) is kept up in the
// background and redialled every 3 seconds, sooner if a call needs it. All callers
// share them. What a server that is not active is asked is asked again where the
// active one is. An acquire whose connection drops goes on at another one as the
// same acquire: it keeps its place, and never waits for itself.
//
// A context that ends ends its call, never the clean-up: an acquire is withdrawn
// and a release sent all the same, in the background if no server answers in time.
package client
