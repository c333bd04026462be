//go:build !unix

package caddymodule

// descriptorLimit is how many files the process may have open.
func descriptorLimit() int { return unlimitedDescriptors }
