package client

import (
	"errors"
	"fmt"
	"strings"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// What a call can end in, for errors.Is. An error that matches one of them says
// more: errors.As finds a RefusedError, a NotHeldError, a LostError or an
// UnavailableError behind it.
//
// A call whose context ends returns an error that matches the context's, and
// ErrUnavailable, too, if there was no connection to ask on at that moment.
var (
	// ErrTimeout means that the key was not granted within the wait: others held
	// it all the time. Nothing is held, nothing waits.
	ErrTimeout = errors.New("not granted within the wait")
	// ErrNotHeld means that the token asked about does not hold the key (any more).
	ErrNotHeld = errors.New("lock not held")
	// ErrTaken means that another token holds the key. What matches it matches
	// ErrNotHeld, too.
	ErrTaken = errors.New("key taken by another token")
	// ErrLost is why a lock ended before its release: its lease ran out, or the
	// server says that it is not held.
	ErrLost = errors.New("lock lost")
	// ErrReleased is why a lock ended that was released, or detached.
	ErrReleased = errors.New("lock released")
	// ErrUnavailable means that no server could be asked, or none that may decide.
	ErrUnavailable = errors.New("no lock server available")
	// ErrRefused means that the server refused the request and changed nothing.
	ErrRefused = errors.New("refused by the lock server")
	// ErrClosed means that the client is closed, or was while the call waited.
	ErrClosed = errors.New("lock client closed")
)

// NotHeldError says that a token does not hold its key. It matches ErrNotHeld,
// and ErrTaken if the key has another holder.
type NotHeldError struct {
	Key   string
	Token uint64
	// Code is wire.CodeNotHeld if the key is free (the lease ran out, or the lock
	// was released), wire.CodeTaken if another token holds it.
	Code wire.Code
}

func (e *NotHeldError) Error() string {
	if e.Code == wire.CodeTaken {
		return fmt.Sprintf("key %q is held by another token than %d", e.Key, e.Token)
	}
	return fmt.Sprintf("key %q is not held by token %d: its lease ran out, or it was released", e.Key, e.Token)
}

// Is reports whether target is ErrNotHeld, or ErrTaken if that is the reason.
func (e *NotHeldError) Is(target error) bool {
	return target == ErrNotHeld || target == ErrTaken && e.Code == wire.CodeTaken
}

// LostError says why a lock was lost. It matches ErrLost, and whatever Reason
// matches.
type LostError struct {
	Key   string
	Token uint64
	// Reason is a *NotHeldError if the server said so, or an error that matches
	// ErrLeaseOver.
	Reason error
}

// ErrLeaseOver is the reason of a LostError if the lease ran out by the client's
// own clock before a renewal was answered.
var ErrLeaseOver = errors.New("lease ran out")

func (e *LostError) Error() string {
	return fmt.Sprintf("lock on %q (token %d) lost: %v", e.Key, e.Token, e.Reason)
}

// Is reports whether target is ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// Unwrap returns the reason.
func (e *LostError) Unwrap() error { return e.Reason }

// RefusedError says that the server refused a request and why, or that it was not
// sent because every server would refuse it. It matches ErrRefused; errors.Is also
// finds its Code.
type RefusedError struct {
	// Op is the request's letter in the protocol: A, R, K, C or Q.
	Op   wire.Op
	Key  string
	Code wire.Code
	// unsent is why it was not even sent; or empty.
	unsent string
}

var refusals = map[wire.Code]string{
	wire.CodeBadLease:       "the lease is longer than the server's max_lease",
	wire.CodeBadWait:        "the server does not take such a wait",
	wire.CodeBadKey:         "the key is longer than the server's max_key_bytes, or not one",
	wire.CodeTooManyKeys:    "the server holds max_keys keys",
	wire.CodeTooManyWaiters: "max_waiters_per_key acquires wait for the key",
	wire.CodeDenied:         "access denied",
}

func (e *RefusedError) Error() string {
	if e.unsent != "" {
		return e.unsent
	}
	if text, known := refusals[e.Code]; known {
		return fmt.Sprintf("refused by the lock server: %s (%s)", text, string(e.Code))
	}
	return "refused by the lock server: " + string(e.Code)
}

// Is reports whether target is ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the code.
func (e *RefusedError) Unwrap() error { return e.Code }

// UnavailableError says what each address said when none could be asked. It
// matches ErrUnavailable, and whatever one of its Addrs matches.
type UnavailableError struct {
	Addrs []AddrError
}

// AddrError is what was wrong with one address.
type AddrError struct {
	Addr string
	Err  error
}

func (e AddrError) Error() string { return e.Addr + ": " + e.Err.Error() }

// Unwrap returns the address's error.
func (e AddrError) Unwrap() error { return e.Err }

func (e *UnavailableError) Error() string {
	texts := make([]string, len(e.Addrs))
	for i, addr := range e.Addrs {
		texts[i] = addr.Error()
	}
	return "no lock server available: " + strings.Join(texts, "; ")
}

// Is reports whether target is ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the errors of the addresses.
func (e *UnavailableError) Unwrap() []error {
	errs := make([]error, len(e.Addrs))
	for i, addr := range e.Addrs {
		errs[i] = addr
	}
	return errs
}

// interruptedError is the end of a context while no server could be asked.
type interruptedError struct {
	ctx         error
	unavailable *UnavailableError
}

func (e *interruptedError) Error() string { return e.ctx.Error() + "; " + e.unavailable.Error() }

// Unwrap returns both reasons.
func (e *interruptedError) Unwrap() []error { return []error{e.ctx, e.unavailable} }
