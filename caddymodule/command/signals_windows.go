package command

import (
	"os"
	"syscall"
)

// endingSignals ask a process to end: Ctrl+C, Ctrl+Break, and the closing of the
// console.
func endingSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// passedSignals is empty: Windows has no others.
func passedSignals(bool) []os.Signal { return nil }
