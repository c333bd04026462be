// Package wire says how the lock protocol is spelled: it parses a line and
// appends a line, and does nothing else. The protocol itself, and what each line
// means, is in PROTOCOL.md beside this file.
//
// Nothing here blocks, keeps state between calls, or allocates for a line that
// is in order. All functions may be called concurrently, each with its own line
// and its own [Request] or [Reply].
//
// # Vocabulary
//
//   - line: a message with its LF, at most [MaxLine] bytes. The parsers take it
//     without the LF.
//   - op: what is asked for, the first letter of a request; kind: what is
//     answered, the first letter of a reply.
//   - tag: the number that a client gives a request, and its reply repeats.
//   - target: the tag of the acquire that C cancels.
//   - key: the last field; it runs to the end of the line.
//   - malformed: the line cannot be read, and its connection is closed; refused:
//     the request can be read, and is answered with a [Code].
//
// # A line on its way
//
//	client   Request ── AppendRequest ──► line ── ParseRequest ──► Request   server
//	                                               │    │
//	                                               │    └─► Code: E <op> <code> <key>
//	                                               └──────► Malformed: E malformed <text>, close
//	client   Reply ◄──── ParseReply ───── line ◄── AppendReply ─── Reply     server
//
// # Decisions
//
//   - Fields are separated by exactly one space. An empty field is malformed,
//     but an empty key is a bad key, and a second space before a key is its
//     first byte.
//   - Integers have one spelling: decimal, no sign, no leading zero, at most
//     2^64-1. A tag, a target and the number of a connection are at least 1. A
//     token may be 0; nobody ever holds it.
//   - A time may have zeros at both ends: 030 and 1.500 are times. One that is
//     none, is below 0.001 or does not fit a time.Duration is a bad lease or a
//     bad wait, not malformed.
//   - For ever is the very word 0. 0.0, 0.000 and 00 are a bad wait, because a
//     remainder that was rounded down must not last for ever.
//   - A bad key is repeated in its refusal as it was sent. One so long that some
//     refusal of it would not fit a line is malformed.
//   - A message whose last field ends in CR is written with a second CR, since
//     the reader drops one.
//   - In replies that name H, X or P, which have no key, a - stands for it. It is
//     read as an empty key.
//   - A reply is read with less suspicion than a request: an unknown code, and a
//     tag on a line that answers nothing, are let through.
//
// # Invariants
//
//  1. What is appended from a request or reply that was parsed, is parsed to the
//     same again.
//  2. The slices of what was parsed alias the line.
//  3. A time is never appended as less than it is; what is above 0 is never
//     appended as 0.
//  4. The reply to a request that was accepted or refused fits a line, as long as
//     the address in it does not have more than 3,000 bytes.
//  5. What [Recognize] says for certain does not change with more bytes, and every
//     request that can be accepted is recognized.
package wire
