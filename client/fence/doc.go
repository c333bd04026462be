// Package fence guards what a lock protects, on the side of what is protected.
//
// A lock with a lease cannot keep a program that no longer holds it from acting
// as if it did. A program is paused (garbage collection, a suspended machine, a
// full disk), or its packet lies in a queue; meanwhile its lease runs out, the
// next holder works, and then the first one goes on and writes. It cannot notice
// in time: between its last look at the clock and the arrival of its write any
// amount of time can pass. The lock server cannot help either: the write does not
// go through it. And a lock server that fails over, or is cut in two by a broken
// network, can for a moment give a lock to two.
//
//	holder A    token 33 |== works ==|...... paused ......| write, token 33
//	                                 ^ lease over                  |
//	holder B                           token 34 |= works =| write  |
//	                                                        |      |
//	resource    greatest token seen: 33                     34     34 > 33: refused
//
// So every grant comes with a fencing token, a number greater than those of all
// grants before it. Whoever writes sends the token along, and the resource
//
//  1. keeps the greatest token it has accepted, at least as durably as what it
//     protects;
//  2. refuses a write with a smaller one, and accepts an equal one: a holder may
//     write many times;
//  3. compares, remembers and writes in one step, which no other write to the
//     same resource comes between;
//  4. does so for every write. One path around the guard and nothing is guarded.
//
// The package does 1 to 3 where the resource is
//
//   - state of one process: [Memory], gone with the process;
//   - rows of a database: [SQL], in the transaction of the write, as durable as
//     the database;
//   - an HTTP service: [Handler], on top of a [Guard].
//
// The example of a file shows the same for what has no transactions.
//
// # What it does not do
//
// A guard orders writes; it does not undo them. What the earlier holder wrote
// before the later one came stays, finished or not, so what takes several writes
// must be one transaction, or be such that the next holder can tell and repair
// what is half done. Work that depends on a read must read after it was admitted,
// under the same guard. A guard also learns of a new holder only from the new
// holder's first write: until then the earlier holder's writes pass, which is
// harmless, as they come before everything the new holder does.
//
// One lock protects one resource, or several, but the tokens of one resource must
// all come from locks of one cluster, and of one key if the lock is to exclude at
// all. A token is a number that anybody can make up: a caller who sends the
// greatest one there is shuts out all others for good. And who knows the token of
// a lock can release that lock, so tokens are not shown to strangers.
package fence
