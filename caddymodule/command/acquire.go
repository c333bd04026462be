package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/caddylock/caddylock/client"
)

const acquireHelp = `Acquires the lock KEY, prints its token on one line, and leaves it held: until
its lease ends, or until "caddy lock release" gives it back. Nothing renews it
but "caddy lock keep". For scripts that cannot run under "caddy lock run".

` + exitHelp

const acquireExample = `
  token=$(caddy lock acquire deploy/prod --lease 10m --wait 30s) || exit
  trap 'caddy lock release deploy/prod "$token"' EXIT`

func newAcquire(sys *system) *cobra.Command {
	a := &acquire{sys: sys}
	cmd := sys.subcommand("acquire KEY [flags]", "Acquires a lock and prints its token", acquireHelp, acquireExample, a.run)
	a.waiting = addWaiting(cmd)
	cmd.Flags().BoolVar(&a.json, "json", false, "print a JSON object")
	a.connection = addConnection(cmd, sys)
	return cmd
}

type acquire struct {
	sys        *system
	waiting    *waiting
	connection *connection
	json       bool
}

func (a *acquire) run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("expected a key, not %d arguments", len(args))
	}
	if err := checkKey(args[0]); err != nil {
		return err
	}
	if err := a.waiting.check(); err != nil {
		return err
	}
	return a.connection.with(func(locks *client.Client) error {
		lock, err := a.waiting.acquire(ctx, locks, args[0], client.WithoutRenewal())
		if err != nil {
			return err
		}
		return a.handOver(ctx, lock)
	})
}

// handOver prints the token. A lock whose token nobody knows would only be in the
// way, so whatever goes wrong the lock is left to the client, which releases it.
func (a *acquire) handOver(ctx context.Context, lock *client.Lock) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, err := a.sys.stdout.Write(a.answer(lock)); err != nil {
		return fmt.Errorf("writing the token; the lock is released: %w", err)
	}
	lock.Detach()
	return nil
}

func (a *acquire) answer(lock *client.Lock) []byte {
	token := strconv.FormatUint(lock.Token(), 10)
	if !a.json {
		return []byte(token + "\n")
	}
	return jsonLine(struct {
		Key     string `json:"key"`
		Token   string `json:"token"`
		LeaseMS int64  `json:"lease_ms"`
	}{lock.Key(), token, milliseconds(a.waiting.lease)})
}

// jsonLine returns an object of strings and numbers on one line.
func jsonLine(object any) []byte {
	line, err := json.Marshal(object)
	if err != nil {
		panic(err) // no such object fails
	}
	return append(line, '\n')
}
