package command

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddylock/caddylock/client"
)

const queryHelp = `Says of each KEY whether it is held: "KEY free" or
"KEY held token=… left=… waiters=…", one line for each, in the order given. It
is for people and monitoring: the answer is past when it arrives.

A key with a space, a quote, a backslash or something unprintable in it is
quoted, with \x20 for a space, so that it always is one field.

` + exitHelp

const queryExample = `
  caddy lock query deploy/prod reports/daily
  caddy lock query --json deploy/prod`

func newQuery(sys *system) *cobra.Command {
	q := &query{sys: sys}
	cmd := sys.subcommand("query KEY... [flags]", "Says who holds keys", queryHelp, queryExample, q.run)
	cmd.Flags().BoolVar(&q.json, "json", false, "print a JSON object for each key")
	q.connection = addConnection(cmd, sys)
	return cmd
}

type query struct {
	sys        *system
	connection *connection
	json       bool
}

func (q *query) run(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return usage("expected at least one key")
	}
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	return q.connection.with(func(locks *client.Client) error {
		for _, key := range keys {
			if err := q.ask(ctx, locks, key); err != nil {
				return err
			}
		}
		return nil
	})
}

func (q *query) ask(ctx context.Context, locks *client.Client, key string) error {
	status, err := locks.Query(ctx, key)
	if err != nil {
		return err
	}
	if _, err := q.sys.stdout.Write(q.answer(status)); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func (q *query) answer(s client.Status) []byte {
	if q.json {
		return jsonLine(jsonStatus(s))
	}
	if s.Token == 0 {
		return []byte(field(s.Key) + " free\n")
	}
	return fmt.Appendf(nil, "%s held token=%d left=%s waiters=%d\n", field(s.Key), s.Token, s.Left, s.Waiters)
}

// heldStatus is a key's status in JSON. The last three are left out for a free
// key.
type heldStatus struct {
	Key     string `json:"key"`
	Held    bool   `json:"held"`
	Token   string `json:"token,omitempty"`
	LeftMS  *int64 `json:"left_ms,omitempty"`
	Waiters *int   `json:"waiters,omitempty"`
}

func jsonStatus(s client.Status) heldStatus {
	if s.Token == 0 {
		return heldStatus{Key: s.Key}
	}
	left := milliseconds(s.Left)
	return heldStatus{s.Key, true, strconv.FormatUint(s.Token, 10), &left, &s.Waiters}
}

// milliseconds rounds up, as the protocol does.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
