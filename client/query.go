package client

import (
	"context"
	"fmt"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// Status is what a server says of a key.
type Status struct {
	Key string
	// Token is that of the holder; 0 if the key is free.
	Token uint64
	// Left is what is left of the holder's lease, in whole milliseconds.
	Left time.Duration
	// Waiters is how many acquires wait for the key.
	Waiters int
}

// Query asks who holds a key and how many wait for it. The answer is past when it
// arrives: it is for people and monitoring, not for deciding whether to go on.
//
// It returns an error that matches the context's, [ErrUnavailable], [ErrRefused]
// or [ErrClosed].
func (c *Client) Query(ctx context.Context, key string) (Status, error) {
	q := question{op: wire.OpQuery, key: key, client: c, attempt: attemptFor}
	q.patience = c.o.unavailableAfter
	got, err := q.once(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("query %q: %w", key, err)
	}
	return Status{Key: key, Token: got.token, Left: got.left, Waiters: got.waiters}, nil
}

// Keep makes the lease of the lock that token holds end at now + lease, wherever
// it was acquired. The token stays. A lock that this client holds is better kept
// by [Lock.Keep], which knows its deadline then.
//
// lease must be above 0; a fraction of a millisecond counts as a whole one. It
// returns [ErrNotHeld], which also matches [ErrTaken] if another token holds the
// key; or an error that matches the context's, [ErrUnavailable], [ErrRefused] or
// [ErrClosed], after which the lease may have been changed or not.
func (c *Client) Keep(ctx context.Context, key string, token uint64, lease time.Duration) error {
	lease, err := wireDuration("lease", lease)
	if err == nil {
		q := question{op: wire.OpKeep, key: key, token: token, lease: lease, client: c, attempt: attemptFor}
		q.patience = c.o.unavailableAfter
		_, err = q.once(ctx)
	}
	if err != nil {
		return fmt.Errorf("keep %q: %w", key, err)
	}
	return nil
}

// once is a call of its own: it asks if the key, the context and the client allow
// it, and makes an error of a refusal.
func (q *question) once(ctx context.Context) (answer, error) {
	if err := checkKey(q.op, q.key); err != nil {
		return answer{}, err
	}
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	if err := q.client.begin(); err != nil {
		return answer{}, err
	}
	defer q.client.end()
	got, err := q.ask(ctx)
	if err == nil && got.kind == wire.KindError {
		err = q.refusal(&got)
	}
	return got, err
}

// checkKey refuses what a line cannot carry.
func checkKey(op wire.Op, key string) error {
	reason := ""
	switch {
	case key == "":
		reason = "a key is at least one byte long"
	case len(key) > wire.MaxKey:
		reason = fmt.Sprintf("a key is at most %d bytes long, not %d", wire.MaxKey, len(key))
	default:
		for i := range len(key) {
			if b := key[i]; b == 0 || b == '\r' || b == '\n' {
				reason = fmt.Sprintf("byte %d of the key is %q: no NUL, CR or LF", i, b)
				break
			}
		}
	}
	if reason == "" {
		return nil
	}
	return &RefusedError{Op: op, Key: key[:min(len(key), wire.MaxKey)], Code: wire.CodeBadKey, unsent: reason}
}
