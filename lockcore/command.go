package lockcore

import "time"

// Conn is a connection as its shell knows it: any comparable value. The table
// compares it, keeps it while an acquire waits there for an answer, and hands
// it back in effects. nil is no connection.
type Conn any

// Owner says on whose behalf an acquire was made. It must not change once it
// was handed to a table.
type Owner struct {
	// Client is the id the client gave itself; "" if it gave none.
	Client string
	// Addr is the network address the acquire came from, for people to read.
	Addr string
}

// Acquire asks for a key.
type Acquire struct {
	// Conn must not be nil.
	Conn  Conn
	Owner *Owner
	// Tag names the acquire among its client's; 0 is none.
	Tag uint64
	// Lease is how long the key is held from the moment it is granted. At least
	// 1 ns.
	Lease time.Duration
	// Wait is how long to queue for a held key: 0 not at all, Forever without
	// limit.
	Wait time.Duration
	// Key is copied if it is kept.
	Key []byte
}

// Release gives a key back. The token is the proof of ownership.
type Release struct {
	Conn  Conn
	Tag   uint64
	Token uint64
	Key   []byte
}

// Keep lets the lease of a held key end Lease from now, sooner or later than it
// would have.
type Keep struct {
	Conn  Conn
	Tag   uint64
	Token uint64
	Lease time.Duration
	Key   []byte
}

// Cancel ends the acquire of the tag Target of the owner's client, whatever has
// become of it.
type Cancel struct {
	Conn   Conn
	Owner  *Owner
	Tag    uint64
	Target uint64
	Key    []byte
}

// Query asks who holds a key.
type Query struct {
	Conn Conn
	Tag  uint64
	Key  []byte
}
