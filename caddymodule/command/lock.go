package command

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const longHelp = summary + `.

  caddy lock run deploy/prod -- ./deploy.sh

holds the lock deploy/prod while ./deploy.sh runs; who comes meanwhile waits.
"caddy lock run --help" tells more, and so does --help of every other command.`

// helpTemplate is cobra's, without what Caddy adds to it: its own documentation
// has nothing about locks.
const helpTemplate = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

// fill makes lock the command that has all others.
func fill(lock *cobra.Command, sys *system) {
	lock.Long = longHelp
	lock.SetHelpTemplate(helpTemplate)
	lock.SetOut(sys.stdout)
	lock.SetErr(sys.stderr)
	lock.SetFlagErrorFunc(sys.flagError)
	lock.RunE = sys.ending(func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("name a command: %s", strings.Join(names(cmd), ", "))
		}
		return usage("%q is no command; there are %s", args[0], strings.Join(names(cmd), ", "))
	})
	lock.AddCommand(newRun(sys), newAcquire(sys), newRelease(sys), newKeep(sys), newQuery(sys), newBench(sys))
}

func names(cmd *cobra.Command) (list []string) {
	for _, sub := range cmd.Commands() {
		list = append(list, sub.Name())
	}
	return list
}

// flagError reports what is wrong with a flag.
func (s *system) flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	sentence := err.Error()
	if missingDash(cmd, err) {
		sentence += "; write -- before the command that is to run"
	}
	return s.ending(func(*cobra.Command, []string) error { return usage("%s", sentence) })(cmd, nil)
}

// missingDash guesses that the flag belongs to the command that is to run.
func missingDash(cmd *cobra.Command, err error) bool {
	_, unknown := errors.AsType[*pflag.NotExistError](err)
	return unknown && cmd.Name() == "run"
}

type runE = func(cmd *cobra.Command, args []string) error

// ending makes fn's error a sentence and an exit code, in place of what cobra and
// Caddy print.
func (s *system) ending(fn runE) runE {
	return func(cmd *cobra.Command, args []string) error {
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		defer s.surviveClosedPipes()()
		if code := s.report(cmd.CommandPath(), fn(cmd, args)); code != exitOK {
			return s.exit(code)
		}
		return nil
	}
}

// subcommand returns a command for a fn that waits for servers: its context ends
// with a signal.
func (s *system) subcommand(use, short, long, example string, fn func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: strings.Trim(example, "\n"),
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		RunE: s.ending(func(_ *cobra.Command, args []string) error {
			ctx, stop := s.untilSignal()
			defer stop()
			return whySignalled(ctx, fn(ctx, args))
		}),
	}
}
