package fence

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// MaxToken is the greatest token that a lock can have: it fits a signed column of
// 64 bits.
const MaxToken uint64 = math.MaxInt64

// What a guard can refuse a token for, for errors.Is.
var (
	// ErrStale means that the resource has seen a greater token: the caller does
	// not hold the lock any more. Trying again with the same token is in vain.
	ErrStale = errors.New("stale fencing token")
	// ErrBadToken means that no lock has this token: it is 0, above MaxToken, or
	// not a number.
	ErrBadToken = errors.New("not a fencing token")
)

// StaleError says which token was refused and why. It matches ErrStale.
type StaleError struct {
	Resource string
	Token    uint64
	// Greatest is the greatest token that the resource has seen, as far as is
	// known. It probably belongs to a lock that is held now, and whoever knows it
	// can release that lock: log it, but do not send it to the refused caller.
	Greatest uint64
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("stale fencing token %d for %q: it has seen %d", e.Token, e.Resource, e.Greatest)
}

// Is reports whether target is ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// ParseToken reads a token as the protocol and Header spell it: a decimal from 1
// to MaxToken without sign, space or leading zero. Any other error than nil
// matches ErrBadToken.
func ParseToken(text string) (uint64, error) {
	token, err := strconv.ParseUint(text, 10, 63)
	if err != nil || text != strconv.FormatUint(token, 10) {
		return 0, fmt.Errorf("%w: not a decimal from 1 to %d", ErrBadToken, MaxToken)
	}
	return token, validate(token)
}

func validate(token uint64) error {
	if token == 0 || token > MaxToken {
		return fmt.Errorf("%w: %d is not from 1 to %d", ErrBadToken, token, MaxToken)
	}
	return nil
}
