// Package wire says how the lock protocol is spelled: it parses a line and
// appends a line, and does nothing else. The protocol itself, and what each line
// means, is in PROTOCOL.md beside this file.
package wire
