package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// Defaults of the options.
const (
	DefaultLease            = 30 * time.Second
	DefaultPingInterval     = 5 * time.Second
	DefaultPingTimeout      = 5 * time.Second
	DefaultDialTimeout      = 5 * time.Second
	DefaultUnavailableAfter = 5 * time.Second
)

// DialFunc opens a connection, as (*net.Dialer).DialContext does. It may be
// called concurrently and must return when its context ends.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

type options struct {
	tls              *tls.Config
	dial             DialFunc
	log              *slog.Logger
	pingInterval     time.Duration
	pingTimeout      time.Duration
	dialTimeout      time.Duration
	unavailableAfter time.Duration
}

func defaultOptions() options {
	dialer := &net.Dialer{KeepAlive: 15 * time.Second}
	return options{
		dial:             dialer.DialContext,
		log:              slog.New(slog.DiscardHandler),
		pingInterval:     DefaultPingInterval,
		pingTimeout:      DefaultPingTimeout,
		dialTimeout:      DefaultDialTimeout,
		unavailableAfter: DefaultUnavailableAfter,
	}
}

// Option is an option of New.
type Option func(*options) error

// WithTLS speaks TLS on every connection. The name to verify is the host of the
// address, unless config has a ServerName. The config is copied.
func WithTLS(config *tls.Config) Option {
	return func(o *options) error {
		if config == nil {
			return errors.New("WithTLS needs a *tls.Config; leave the option out to speak without TLS")
		}
		o.tls = config.Clone()
		return nil
	}
}

// WithDialer opens connections by dial instead of by a net.Dialer. TLS, if asked
// for, is spoken over what it returns.
func WithDialer(dial DialFunc) Option {
	return func(o *options) error {
		if dial == nil {
			return errors.New("WithDialer needs a function")
		}
		o.dial = dial
		return nil
	}
}

// WithLogger logs connections made and lost, moves of the active node, locks lost
// and clean-ups that failed. Nothing is logged for a request that went well.
// Without it nothing is logged.
func WithLogger(log *slog.Logger) Option {
	return func(o *options) error {
		if log == nil {
			return errors.New("WithLogger needs a *slog.Logger")
		}
		o.log = log
		return nil
	}
}

// WithPing pings every connection at each interval, also when nothing is in
// flight, and gives a connection up that is silent for timeout after a ping. Both
// are at least a millisecond; the defaults are 5 s each. A server forgets the
// place of a waiter that is silent for its client_timeout (15 s), so keep the
// interval well below that.
func WithPing(interval, timeout time.Duration) Option {
	return func(o *options) error {
		if interval < time.Millisecond || timeout < time.Millisecond {
			return fmt.Errorf("WithPing(%s, %s): both must be at least 1ms", interval, timeout)
		}
		o.pingInterval, o.pingTimeout = min(interval, wire.MaxWait), min(timeout, wire.MaxWait)
		return nil
	}
}

// WithDialTimeout bounds the making of a connection: dial, TLS handshake and the
// server's first answer together. The default is 5 s.
func WithDialTimeout(d time.Duration) Option {
	return func(o *options) error {
		if d <= 0 {
			return fmt.Errorf("WithDialTimeout(%s): must be above 0", d)
		}
		o.dialTimeout = d
		return nil
	}
}

// WithUnavailableAfter says how long a call goes on looking for a usable
// connection before it returns ErrUnavailable; it makes at least as many tries as
// there are addresses (two for a single one). The default, 5 s, is how long a
// server keeps the place of a waiter, and spans a planned restart. 0 means those
// tries and no more.
func WithUnavailableAfter(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("WithUnavailableAfter(%s): must not be below 0", d)
		}
		o.unavailableAfter = d
		return nil
	}
}

type lockOptions struct {
	lease time.Duration
	wait  time.Duration // wire.Try, wire.Forever, or a time
	renew bool
}

// LockOption is an option of Acquire, TryAcquire and Do.
type LockOption func(*lockOptions) error

// WithLease asks for a lease other than DefaultLease. It must be above 0; a
// fraction of a millisecond counts as a whole one. The server's max_lease bounds
// it.
func WithLease(lease time.Duration) LockOption {
	return func(o *lockOptions) (err error) {
		o.lease, err = wireDuration("lease", lease)
		return err
	}
}

// WithWait bounds how long an acquire waits for the holders before it. It must be
// above 0; a fraction of a millisecond counts as a whole one.
func WithWait(wait time.Duration) LockOption {
	return func(o *lockOptions) (err error) {
		if wait == 0 {
			return errors.New("WithWait(0): write WithoutWait to not wait, or WithWaitForever to wait without limit")
		}
		o.wait, err = wireDuration("wait", wait)
		o.wait = min(o.wait, wire.MaxWait)
		return err
	}
}

// WithoutWait does not wait: the key is free now, or ErrTimeout is returned.
func WithoutWait() LockOption {
	return func(o *lockOptions) error {
		o.wait = wire.Try
		return nil
	}
}

// WithWaitForever waits as long as the context allows. It is the default of
// Acquire and Do.
func WithWaitForever() LockOption {
	return func(o *lockOptions) error {
		o.wait = wire.Forever
		return nil
	}
}

// WithoutRenewal does not renew the lock: it ends when its lease does, unless
// Keep is called. A grant that was waited for in silence is renewed once at the
// start, to be certain when its lease ends.
func WithoutRenewal() LockOption {
	return func(o *lockOptions) error {
		o.renew = false
		return nil
	}
}

func makeLockOptions(wait time.Duration, opts []LockOption) (lockOptions, error) {
	o := lockOptions{lease: DefaultLease, wait: wait, renew: true}
	if len(opts) == 0 {
		return o, nil
	}
	return o.with(opts)
}

func (o lockOptions) with(opts []LockOption) (lockOptions, error) {
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// wireDuration rounds d up to what the protocol can say: whole milliseconds.
func wireDuration(what string, d time.Duration) (time.Duration, error) {
	if d <= 0 {
		return 0, fmt.Errorf("%s of %s: must be above 0", what, d)
	}
	if d > wire.MaxWait {
		return wire.MaxWait, nil
	}
	return (d + time.Millisecond - 1).Truncate(time.Millisecond), nil
}
