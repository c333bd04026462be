package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddylock/caddylock/client"
)

// minLease is the shortest lease that the protocol can say.
const minLease = time.Millisecond

// waiting is how to acquire.
type waiting struct {
	lease, wait time.Duration
	try         bool
}

// addWaiting declares the flags of an acquire.
func addWaiting(cmd *cobra.Command) *waiting {
	w := &waiting{}
	addLease(cmd, &w.lease)
	zero := "0 does not say whether to wait for ever or not at all: leave --wait out, or write --try"
	cmd.Flags().Var(&durationValue{value: &w.wait, least: time.Millisecond, zero: zero}, "wait", "how long to wait for the lock; without it, for ever")
	cmd.Flags().BoolVar(&w.try, "try", false, "do not wait for the lock")
	return w
}

func addLease(cmd *cobra.Command, lease *time.Duration) {
	*lease = client.DefaultLease
	zero := "a lease of 0 holds nothing: it must be at least " + minLease.String()
	cmd.Flags().Var(&durationValue{value: lease, least: minLease, zero: zero}, "lease", "how long the lock outlives its holder; the server has a longest (max_lease)")
}

func (w *waiting) check() error {
	if w.try && w.wait != 0 {
		return usage("--try and --wait contradict each other: --try does not wait")
	}
	return nil
}

func (w *waiting) options() []client.LockOption {
	opts := []client.LockOption{client.WithLease(w.lease)}
	switch {
	case w.try:
		opts = append(opts, client.WithoutWait())
	case w.wait != 0:
		opts = append(opts, client.WithWait(w.wait))
	}
	return opts
}

// acquire says in its error which key it was, and for how long it waited.
func (w *waiting) acquire(ctx context.Context, locks *client.Client, key string, more ...client.LockOption) (*client.Lock, error) {
	lock, err := locks.Acquire(ctx, key, append(w.options(), more...)...)
	switch {
	case err == nil:
		return lock, nil
	case errors.Is(err, client.ErrTimeout) && w.try:
		return nil, coded(exitNotInTime, "%q is held by somebody else", key)
	case errors.Is(err, client.ErrTimeout):
		return nil, coded(exitNotInTime, "%q was not free within %s", key, w.wait)
	case errors.Is(err, client.ErrRefused), errors.Is(err, client.ErrUnavailable):
		return nil, err
	}
	return nil, fmt.Errorf("waiting for the lock: %w", err)
}
