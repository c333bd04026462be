package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/caddylock/caddylock/client"
)

const releaseHelp = `Releases the lock KEY that TOKEN holds: the token is the proof. A TOKEN of - is
read from standard input. If the token does not hold the key any more, the exit
code is 79, and standard error says whether somebody else does.

` + exitHelp

const releaseExample = `
  caddy lock release deploy/prod "$token"
  caddy lock release deploy/prod - <token.txt`

func newRelease(sys *system) *cobra.Command {
	var c *connection
	cmd := sys.subcommand("release KEY TOKEN [flags]", "Releases a lock by its token", releaseHelp, releaseExample,
		func(ctx context.Context, args []string) error {
			key, token, err := sys.keyAndToken(args)
			if err != nil {
				return err
			}
			return c.with(func(locks *client.Client) error {
				return plainly(locks.Release(ctx, key, token))
			})
		})
	c = addConnection(cmd, sys)
	return cmd
}

// plainly reduces the error of a token that holds nothing to what it says itself.
func plainly(err error) error {
	if notHeld, is := errors.AsType[*client.NotHeldError](err); is {
		return notHeld
	}
	return err
}
