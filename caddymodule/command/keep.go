package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddylock/caddylock/client"
)

const keepHelp = `Keeps the lock KEY that TOKEN holds: its lease now ends --lease from now. The
token stays. A TOKEN of - is read from standard input. If the token does not hold
the key any more, the exit code is 79, and standard error says whether somebody
else does.

` + exitHelp

const keepExample = `
  caddy lock keep deploy/prod "$token" --lease 10m`

func newKeep(sys *system) *cobra.Command {
	var c *connection
	var lease time.Duration
	cmd := sys.subcommand("keep KEY TOKEN [flags]", "Renews the lease of a lock by its token", keepHelp, keepExample,
		func(ctx context.Context, args []string) error {
			key, token, err := sys.keyAndToken(args)
			if err != nil {
				return err
			}
			return c.with(func(locks *client.Client) error {
				return plainly(locks.Keep(ctx, key, token, lease))
			})
		})
	addLease(cmd, &lease)
	c = addConnection(cmd, sys)
	return cmd
}
