// Package lockcore says what a lock is. It is pure: no clock, no goroutine, no
// mutex, no I/O, no log. A [Table] is told the present instant and one command;
// it decides and returns what it decided as effects.
//
// # Vocabulary
//
//   - acquire: a request for a key; it waits, is granted, or times out.
//   - lease: how long a key is held unless it is kept or released before.
//   - holder: the acquire that a key was granted to. Its token is the proof.
//   - fencing token: a number that grows with every grant.
//   - waiter: an acquire in the queue of a held key. A waiter is present while a
//     connection can be answered, else away until it comes back or its grace is
//     over.
//   - owner: on whose behalf an acquire was made. A client that named itself can
//     repeat and cancel its acquires by their tags.
//
// # The life of a key
//
//	            acquire                    acquire: queued
//	unknown ───────────────► held ◄───┐  ┌────────────────► held, waited for
//	   ▲                      │ │     └──┘                        │
//	   │    release, expiry   │ └─── keep, repeated acquire       │ release, expiry:
//	   └──────────────────────┘                                   │ the first waiter
//	                                                              ▼ present has it
//	                                              held by the next, with a new token
//
// # Invariants
//
// [Table.Check] verifies them, each by its name:
//
//   - token-monotonic: for one key, grants in the order made have growing tokens.
//   - one-holder: a key has at most one holder.
//   - fifo: waiters are granted in the order queued, except those away or
//     cancelled.
//   - no-leak: an acquire ends in exactly one of granted, timed out, cancelled,
//     refused, abandoned; after all but the first nothing is held or queued for
//     it, and nothing is kept for a key that nobody holds or waits for (but for
//     a fixed number of idle ones).
//   - no-stall: a free key with a waiter that is present does not stay free.
package lockcore
