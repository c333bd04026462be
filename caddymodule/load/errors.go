package load

import (
	"fmt"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// RefusedError says that the server refused a request.
type RefusedError struct {
	Op   wire.Op // wire.OpAcquire or wire.OpRelease
	Code wire.Code
	Key  string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the server refused to %s %q: %s", verb(e.Op), e.Key, e.Code)
}

func verb(op wire.Op) string {
	if op == wire.OpRelease {
		return "release"
	}
	return "acquire"
}

// MovedError says that the server is not the active node, or not any more.
type MovedError struct {
	// Addr is that of the active node, as the server calls it.
	Addr string
}

func (e *MovedError) Error() string {
	return "the server says that the active node is " + e.Addr
}

func refusal(r *wire.Reply) error {
	if r.Kind == wire.KindMoved {
		return &MovedError{Addr: string(r.Addr)}
	}
	return &RefusedError{Op: r.Op, Code: r.Code, Key: string(r.Key)}
}
