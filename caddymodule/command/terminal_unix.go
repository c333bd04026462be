//go:build unix

package command

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// terminal is the terminal of the wrapper, which it hands to the command: only
// then does Ctrl+C reach the command, and nobody else, and may it read.
type terminal struct{ fd int }

// foregroundTerminal returns the terminal that stdin is, if the wrapper's process
// group has it; otherwise nil. In the background it is not ours to give.
func foregroundTerminal(stdin *os.File) *terminal {
	t := &terminal{int(stdin.Fd())}
	if !t.has(unix.Getpgrp()) {
		return nil
	}
	return t
}

func (t *terminal) has(group int) bool {
	foreground, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && foreground == group
}

// give makes a group the one in the foreground, also from the background: there
// the system would stop who tries, unless it ignores the signal for it. It fails
// when the terminal is gone, and then there is nothing to give.
func (t *terminal) give(group int) {
	signal.Ignore(unix.SIGTTOU)
	defer signal.Reset(unix.SIGTTOU)
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group)
}
