package command

import (
	"errors"
	"io/fs"
	"os/exec"
)

// lookUp finds a command as a shell would, with a shell's exit codes.
func lookUp(name string) (path string, err error) {
	path, err = exec.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrDot):
		return "", coded(exitNotFound, "%q is in the current directory, not in PATH; write ./%s", name, name)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", coded(exitNotFound, "command %q was not found", name)
	default:
		return "", coded(exitNoExec, "command %q cannot be executed: %w", name, reasonOf(err))
	}
}

// reasonOf is the last of a chain of errors: the ones before it repeat the name.
func reasonOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
