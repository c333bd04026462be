package command

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithWrapper makes the system kill the command when the thread that starts it
// ends: with the wrapper, if that is killed.
func dieWithWrapper(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// adoptOrphans makes this process the parent of whatever the command leaves
// behind, so that it can be reaped also where the first process of the system, as
// that of a container, reaps nothing. Where the system does not know this, it does
// reap.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
