package command

import (
	"errors"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
)

const summary = "Acquires, keeps and releases locks, and runs commands under them"

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:      "lock",
		Usage:     "<command>",
		Short:     summary,
		CobraFunc: func(lock *cobra.Command) { fill(lock, processSystem()) },
	})
}

// exitThroughCaddy returns an error that Caddy's Main turns into the exit code. It
// takes any error for 1, and lets other codes through only from its own wrapper,
// whose type it keeps to itself.
func exitThroughCaddy(code int) error {
	if code == 1 {
		return errors.New("exit status 1")
	}
	return caddycmd.WrapCommandFuncForCobra(func(caddycmd.Flags) (int, error) {
		return code, nil
	})(new(cobra.Command), nil)
}
