//go:build unix

package caddymodule

import "syscall"

// descriptorLimit is how many files the process may have open. Go raises it to
// what the administrator allows when the process starts.
func descriptorLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return unlimitedDescriptors
	}
	//nolint:unconvert,gosec // the field has another type on some systems
	if current := uint64(limit.Cur); current < unlimitedDescriptors {
		return int(current)
	}
	return unlimitedDescriptors
}
