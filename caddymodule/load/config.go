package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// DefaultLease is long enough for a slow network and short enough for what a
// killed run leaves behind.
const DefaultLease = 30 * time.Second

// Config says what Run does.
type Config struct {
	// Dial opens a connection to the active node. Its context is Run's, so it sets
	// a time limit of its own.
	Dial func(ctx context.Context) (net.Conn, error)
	// Workload is what is done.
	Workload Workload
	// Duration is how long new pairs are begun, above 0. Opening the connections
	// before, and ending the last pairs after it, takes a little longer.
	Duration time.Duration
	// Lease is that of every acquire, at least a millisecond; 0 means DefaultLease.
	// The server must allow it.
	Lease time.Duration
	// Progress, if set, is called about once a second until the run ends, on Run's
	// goroutine. It should be quick: meanwhile Run does not see its context end.
	Progress func(Progress)
}

func (c *Config) check() error {
	if c.Dial == nil {
		return errors.New("nothing to dial with")
	}
	if c.Duration <= 0 {
		return fmt.Errorf("the duration must be above 0, not %s", c.Duration)
	}
	if c.Lease != 0 && c.Lease < time.Millisecond {
		return fmt.Errorf("the lease must be at least 1ms, not %s", c.Lease)
	}
	return c.Workload.check()
}

// withDefaults returns a copy.
func (c Config) withDefaults() Config {
	if c.Lease == 0 {
		c.Lease = DefaultLease
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	return c
}
