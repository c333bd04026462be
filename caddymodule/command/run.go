package command

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddylock/caddylock/client"
)

const (
	defaultGrace = 10 * time.Second
	// maxPending is how many signals wait for the command at most.
	maxPending = 64
)

const runHelp = `Acquires the lock KEY, runs a command, and releases the lock when the command and
what it left in its process group have ended. Meanwhile the lease is renewed.
The command finds the key in LOCK_KEY and the fencing token in LOCK_TOKEN, and
signals are passed on to it.

If the lock is lost, the command and its group are sent TERM, and KILL after
--grace. What the command leaves running behind it has --grace to end by itself,
and is then ended in the same way.

If this process is killed, the command is killed, too (on Linux), but not what
the command has started; the lock ends with its lease. A command that is paused
for longer than the lease writes on for a moment when it wakes up: where that
must not be, let what it writes to check LOCK_TOKEN, and refuse smaller ones.

` + exitHelpOfRun

const runExample = `
  caddy lock run deploy/prod -- ./deploy.sh --fast
  caddy lock run reports/daily --try -- sh -c 'make report && make send'
  */5 * * * * LOCK_ADDR=lock1,lock2 caddy lock run sync --wait 1m -- /usr/local/bin/sync`

func newRun(sys *system) *cobra.Command {
	r := &run{sys: sys, grace: defaultGrace}
	cmd := &cobra.Command{
		Use: "run KEY [flags] -- COMMAND [ARG...]", Short: "Runs a command while it holds a lock",
		Long: runHelp, Example: strings.Trim(runExample, "\n"),
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		RunE:                  sys.ending(r.run),
	}
	r.waiting = addWaiting(cmd)
	cmd.Flags().Var(&durationValue{value: &r.grace}, "grace", "how long a command that is to end may take before it is killed")
	r.connection = addConnection(cmd, sys)
	return cmd
}

type run struct {
	sys        *system
	waiting    *waiting
	connection *connection
	grace      time.Duration
	signals    chan os.Signal
}

func (r *run) run(cmd *cobra.Command, args []string) error {
	key, argv, err := splitAtDash(args, cmd.ArgsLenAtDash())
	if err != nil {
		return err
	}
	if err := r.waiting.check(); err != nil {
		return err
	}
	path, err := lookUp(argv[0])
	if err != nil {
		return err
	}
	r.signals = make(chan os.Signal, maxPending)
	r.sys.notify(r.signals, endingSignals()...)
	defer r.sys.stopNotify(r.signals)
	return r.connection.with(func(locks *client.Client) error {
		lock, err := r.acquire(locks, key)
		if err != nil {
			return err
		}
		return r.under(lock, cmd.CommandPath(), path, argv)
	})
}

// splitAtDash returns what is before -- and what is after it.
func splitAtDash(args []string, dash int) (key string, argv []string, err error) {
	switch {
	case dash < 0:
		return "", nil, usage("expected a key, then -- and the command to run")
	case dash != 1:
		return "", nil, usage("expected one key before --, not %d", dash)
	case len(args) == 1:
		return "", nil, usage("there is no command after --")
	}
	return args[0], args[1:], checkKey(args[0])
}

// acquire gives up at a signal. The next one reaches r.signals as before.
func (r *run) acquire(locks *client.Client, key string) (*client.Lock, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case sig := <-r.signals:
			cancel(&signalError{sig})
		case <-ctx.Done():
		}
	}()
	lock, err := r.waiting.acquire(ctx, locks, key)
	cancel(nil)
	<-done
	if sig, is := errors.AsType[*signalError](context.Cause(ctx)); is {
		return nil, sig // the client releases what was acquired
	}
	return lock, err
}

// under runs the command. Whatever goes wrong before it has started, the client
// releases the lock.
func (r *run) under(lock *client.Lock, name, path string, argv []string) error {
	environ := withLock(r.sys.environ, lock)
	started, err := startJob(path, argv, environ, []*os.File{r.sys.stdin, r.sys.stdout, r.sys.stderr})
	if err != nil {
		return coded(exitNoExec, "command %q cannot be executed: %w", argv[0], reasonOf(err))
	}
	r.sys.notify(r.signals, passedSignals(started.hasTerminal())...)
	w := &watch{run: r, name: name, lock: lock, job: started}
	return w.finish(w.untilGone())
}

// withLock adds the lock to an environment, in the place of one around it.
func withLock(environ []string, lock *client.Lock) []string {
	list := make([]string, 0, len(environ)+2)
	for _, variable := range environ {
		if !strings.HasPrefix(variable, "LOCK_KEY=") && !strings.HasPrefix(variable, "LOCK_TOKEN=") {
			list = append(list, variable)
		}
	}
	return append(list, "LOCK_KEY="+lock.Key(), "LOCK_TOKEN="+strconv.FormatUint(lock.Token(), 10))
}
