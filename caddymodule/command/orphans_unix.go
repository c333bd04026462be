//go:build unix && !linux

package command

import "syscall"

// dieWithWrapper does nothing: here a command outlives a wrapper that is killed.
func dieWithWrapper(*syscall.SysProcAttr) {}

// adoptOrphans does nothing: the first process of the system reaps them.
func adoptOrphans() {}
