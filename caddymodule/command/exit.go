package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/caddylock/caddylock/client"
)

// Exit codes. Those that sysexits.h has a name for have its number.
const (
	exitOK          = 0
	exitUsage       = 64
	exitUnavailable = 69
	exitOther       = 70
	exitNotInTime   = 75
	exitRefused     = 77
	exitNotHeld     = 79
	exitNoExec      = 126
	exitNotFound    = 127
	// exitSignal is added to the number of a signal.
	exitSignal = 128
)

const exitHelp = `Exit codes:
  0   done
  64  the command line is wrong
  69  no lock server answered
  70  something else went wrong
  75  the lock was not acquired in time (--try, --wait)
  77  the lock server refused the request
  79  the lock is not held, or was lost
  128+n  ended by signal n while it waited`

const exitHelpOfRun = `Exit codes: that of the command, or 128+n if signal n ended it. Without it:
  64  the command line is wrong
  69  no lock server answered
  70  something else went wrong
  75  the lock was not acquired in time (--try, --wait)
  77  the lock server refused the request
  79  the lock was lost; the command was ended
  126 the command cannot be executed
  127 the command was not found
  128+n  ended by signal n while it waited for the lock`

// codedError is an error with an exit code of its own.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }

func (e *codedError) Unwrap() error { return e.err }

func coded(code int, format string, args ...any) error {
	return &codedError{code, fmt.Errorf(format, args...)}
}

func usage(format string, args ...any) error { return coded(exitUsage, format, args...) }

// signalError is the end of a subcommand by a signal.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return "ended by signal: " + e.signal.String() }

func (e *signalError) code() int {
	number, _ := e.signal.(syscall.Signal)
	return exitSignal + int(number)
}

// codeOf returns what a subcommand that ended with err exits with. Of several
// reasons the one that says more about the lock counts.
func codeOf(err error) int {
	if err == nil {
		return exitOK
	}
	if own, is := errors.AsType[*codedError](err); is {
		return own.code
	}
	if sig, is := errors.AsType[*signalError](err); is {
		return sig.code()
	}
	for _, known := range []struct {
		err  error
		code int
	}{
		{client.ErrTimeout, exitNotInTime},
		{client.ErrNotHeld, exitNotHeld},
		{client.ErrLost, exitNotHeld},
		{client.ErrRefused, exitRefused},
		{client.ErrUnavailable, exitUnavailable},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	return exitOther
}

// report says what went wrong in one line, and returns the exit code.
func (s *system) report(command string, err error) int {
	if end, is := errors.AsType[*commandEnded](err); is {
		return end.code
	}
	if err != nil {
		s.say(command, err.Error())
	}
	return codeOf(err)
}

// say writes one line to standard error. That it cannot be written is nothing to
// act on.
func (s *system) say(command, sentence string) {
	_, _ = fmt.Fprintf(s.stderr, "%s: %s\n", command, strings.ReplaceAll(sentence, "\n", "; "))
}

// whySignalled returns the signal that ended ctx; otherwise err.
func whySignalled(ctx context.Context, err error) error {
	if sig, is := errors.AsType[*signalError](context.Cause(ctx)); is && err != nil {
		return sig
	}
	return err
}
