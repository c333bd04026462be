package fence

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// Header is the field in which a request carries its fencing token, as a decimal
// from 1 to MaxToken.
const Header = "Fencing-Token"

// SetHeader writes the token of a lock into the header of a request, in place of
// one that is there.
func SetHeader(h http.Header, token uint64) {
	h.Set(Header, strconv.FormatUint(token, 10))
}

// FromHeader reads the token of a request. An error says what is wrong with the
// field and matches ErrBadToken.
func FromHeader(h http.Header) (uint64, error) {
	values := h.Values(Header)
	switch len(values) {
	case 0:
		return 0, fmt.Errorf("%w: the request has no %s header", ErrBadToken, Header)
	case 1:
		return ParseToken(values[0])
	default:
		return 0, fmt.Errorf("%w: the request has %d %s headers", ErrBadToken, len(values), Header)
	}
}

// Handler runs next under guard, for the resource that a request is about and the
// token in its header. Wrap what writes, and wrap it inside of what authenticates:
// a caller who may send any token can shut out all others.
//
// Without a token as FromHeader reads it, the answer is 400 Bad Request. A stale
// one is answered by 412 Precondition Failed: the token is a condition that the
// request's header states, and it is false. (409 Conflict would ask the caller to
// look again and retry, which cannot help who does not hold the lock.) If the
// guard fails otherwise, the answer is 503 Service Unavailable. In all these cases
// next has not run, and the body is one sentence that does not tell the token of
// anybody else.
//
// If the guard fails after next has run, as one may that commits only then, the
// response is cut off, by a panic with http.ErrAbortHandler: the caller must not
// take for done what may not be.
func Handler(guard Guard, resource func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := FromHeader(r.Header)
		if err != nil {
			refuse(w, err)
			return
		}
		ran := false
		err = guard.Do(resource(r), token, func() error {
			ran = true
			next.ServeHTTP(w, r)
			return nil
		})
		switch {
		case err == nil:
		case ran:
			panic(http.ErrAbortHandler)
		default:
			refuse(w, err)
		}
	})
}

func refuse(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, ErrBadToken):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, ErrStale):
		http.Error(w, "stale fencing token: the lock has passed to a later holder", http.StatusPreconditionFailed)
	default:
		http.Error(w, "the fencing token could not be checked", http.StatusServiceUnavailable)
	}
}
