package lockcore

import "time"

// Kind says what an effect is.
type Kind uint8

// The effects. Each says whom it answers; those marked * changed the table.
const (
	// Granted*: an acquire holds the key, with a new token. Answers the acquire.
	Granted Kind = iota + 1
	// Regranted*: an acquire that already holds the key was repeated. Its token
	// is the old one, its lease may end later. Answers the repetition.
	Regranted
	// Queued*: an acquire waits, or waits on under new terms. Answers nobody.
	Queued
	// TimedOut*: an acquire ended without a grant. Answers the acquire.
	TimedOut
	// Withdrawn*: a waiting acquire was cancelled. Answers nobody.
	Withdrawn
	// Abandoned*: a waiting acquire ended because nobody was left to be told.
	// Answers nobody.
	Abandoned
	// Released*: a holder gave its key back. Answers the release, if it was one:
	// a cancelled acquire that held the key is released without an answer.
	Released
	// Expired*: a lease ran out. Answers nobody.
	Expired
	// Kept*: a lease ends at a new time. Answers the keep.
	Kept
	// Cancelled: after Withdrawn or Released, or when there was nothing to
	// cancel. Answers the cancel.
	Cancelled
	// Queried answers a query.
	Queried
	// Refused: the request was not carried out; Refusal says why. Answers it.
	Refused
)

// Op says which command was refused.
type Op uint8

// The commands that can be refused.
const (
	OpAcquire Op = iota + 1
	OpRelease
	OpKeep
)

// Refusal is why a request was refused.
type Refusal uint8

// The refusals a table makes.
const (
	// NotHeld: nobody holds the key.
	NotHeld Refusal = iota + 1
	// Taken: somebody with another token holds the key.
	Taken
	// TooManyKeys: the node has as many keys as it may.
	TooManyKeys
	// TooManyWaiters: the key has as many waiters as it may.
	TooManyWaiters
)

// Effect is one thing that a call decided, in the order decided. It is valid
// until the table's next call.
type Effect struct {
	Kind Kind
	// Refusal and Op are set for Refused.
	Refusal Refusal
	Op      Op
	// Echo marks an answer given a second time, on a further connection that
	// asked for the same acquire. It changed nothing.
	Echo bool
	// Conn is the connection to answer; nil for none.
	Conn Conn
	// Owner is whose acquire this is about: set for Granted, Regranted, Queued,
	// TimedOut, Withdrawn, Abandoned, Released, Expired and Cancelled.
	Owner *Owner
	// Tag is the tag of the request that the effect answers.
	Tag uint64
	// Acquire is the tag of the acquire that the effect is about.
	Acquire uint64
	// Key must not be changed.
	Key []byte
	// Token is the holder's; for Queried 0 if the key is free, for Refused the
	// one presented.
	Token uint64
	// Lease is what is left of the lease (Granted, Regranted, Kept, Queried), or
	// its length once granted (Queued).
	Lease time.Duration
	// Wait is what is left of the wait, for Queued.
	Wait time.Duration
	// Waiters is how many acquires wait for the key: Queried, and Expired,
	// where it counts those present before the key was passed on.
	Waiters int
}
