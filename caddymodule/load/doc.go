// Package load puts load on a lock server with bare protocol lines and measures
// what comes of it: what a server can do when no client library is in between.
//
//	workload, err := load.ParseWorkload("8x64")
//	result, err := load.Run(ctx, load.Config{Dial: dial, Workload: workload, Duration: 10 * time.Second})
//
// # Vocabulary
//
//   - pair: an acquire and the release of what it was granted; in a contended
//     workload a pair is a handover.
//   - lane: a connection, and the goroutine that both writes and reads it.
//   - slot: one request in flight on a lane, time and again, always about its
//     own key.
//   - plan: what a slot sends next when it was answered.
//
// # How it works
//
//	Run ── Workload ──► Plan ──► Lane ──── lines ────► server
//	 ▲                   ▲        │  ◄─── replies ───
//	 │                   └─ Slot ─┘
//	 └── Progress, Result: pairs, Histogram
//
// Most programs need Run alone. Lanes and plans are public for benchmarks that
// send something else, or to something else.
//
// # Invariants
//
//  1. A unit is counted only after each of its replies was held against its
//     request: the op, the key, and the token, which is greater than any that
//     the connection was granted before. A contended key has one holder at a time,
//     and its tokens grow over all connections.
//  2. A run uses only keys that start with "bench/" and a random part of its own.
//  3. A lane that was stopped, or refused something, acquires nothing more and
//     gives back what it has. What a connection that broke had acquired is held
//     until its lease ends.
//  4. When Run has returned, its goroutines and connections are gone.
package load
