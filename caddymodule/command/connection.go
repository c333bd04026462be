package command

import (
	"context"
	"crypto/tls"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/caddylock/caddylock/client"
)

// closeTimeout is how long a client that ends may look for a server that takes
// back what it holds.
const closeTimeout = 5 * time.Second

// connection is how to reach the lock servers.
type connection struct {
	sys              *system
	flags            *pflag.FlagSet
	addrs            []string
	security         security
	unavailableAfter time.Duration
	verbose          bool
}

// addConnection declares the flags of a connection.
func addConnection(cmd *cobra.Command, sys *system) *connection {
	c := &connection{sys: sys, flags: cmd.Flags(), unavailableAfter: client.DefaultUnavailableAfter}
	c.flags.StringArrayVar(&c.addrs, "addr", nil, "lock server as `host:port` or unix/path; may be repeated, or a list with commas (or LOCK_ADDR; else "+defaultAddr+")")
	c.security.addFlags(c.flags)
	c.flags.Var(&durationValue{value: &c.unavailableAfter}, "unavailable-after", "how long to look for a server")
	c.flags.BoolVarP(&c.verbose, "verbose", "v", false, "log what happens to the connections on standard error")
	return c
}

// resolve returns where the servers are; the configuration is nil without TLS.
func (c *connection) resolve() ([]string, *tls.Config, error) {
	lists := c.addrs
	if len(lists) == 0 {
		lists = []string{c.sys.getenv("LOCK_ADDR")}
		if lists[0] == "" {
			lists[0] = defaultAddr
		}
	}
	addrs, err := addresses(lists)
	if err != nil {
		return nil, nil, err
	}
	config, err := c.security.resolve(c.flags, c.sys)
	if err == nil && config != nil && config.ServerName == "" {
		err = namesOfServers(addrs)
	}
	return addrs, config, err
}

// namesOfServers fails if an address does not say what to find in a certificate.
func namesOfServers(addrs []string) error {
	for _, addr := range addrs {
		if strings.HasPrefix(addr, "unix/") {
			return usage("TLS on %s needs --server-name", addr)
		}
	}
	return nil
}

// open returns a client.
func (c *connection) open() (*client.Client, error) {
	addrs, config, err := c.resolve()
	if err != nil {
		return nil, err
	}
	opts := []client.Option{client.WithUnavailableAfter(c.unavailableAfter)}
	if config != nil {
		opts = append(opts, client.WithTLS(config))
	}
	if c.verbose {
		opts = append(opts, client.WithLogger(slog.New(slog.NewTextHandler(c.sys.stderr, nil))))
	}
	return client.New(addrs, opts...)
}

// with calls fn with a client, and closes the client: it withdraws and releases
// what fn left.
func (c *connection) with(fn func(locks *client.Client) error) error {
	locks, err := c.open()
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = locks.Close(ctx)
	}()
	return fn(locks)
}
