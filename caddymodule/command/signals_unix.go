//go:build unix

package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// endingSignals end a process that does not expect them.
func endingSignals() []os.Signal {
	return []os.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM,
	}
}

// passedSignals are what a running command is sent besides endingSignals. Who has
// caught SIGTSTP once cannot be stopped by it any more, since Go does not give its
// default action back; and with a terminal the wrapper has to be.
func passedSignals(terminal bool) []os.Signal {
	if terminal {
		return []os.Signal{unix.SIGWINCH, unix.SIGCONT}
	}
	return []os.Signal{unix.SIGWINCH, unix.SIGCONT, unix.SIGTSTP}
}
