package command

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// system is what a subcommand uses of the process that it runs in.
type system struct {
	stdin, stdout, stderr *os.File
	// environ is as os.Environ returns it.
	environ []string
	// notify and stopNotify are those of os/signal.
	notify     func(c chan<- os.Signal, signals ...os.Signal)
	stopNotify func(c chan<- os.Signal)
	// exit makes the error that ends the process with a code.
	exit func(code int) error
}

func processSystem() *system {
	return &system{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		environ: os.Environ(),
		notify:  notifyUnlessIgnored, stopNotify: signal.Stop,
		exit: exitThroughCaddy,
	}
}

// notifyUnlessIgnored is signal.Notify that leaves alone what whoever started the
// process made it ignore: nohup, or a shell that runs it in the background.
func notifyUnlessIgnored(c chan<- os.Signal, signals ...os.Signal) {
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}

// surviveClosedPipes makes a write to a standard output or error that nobody reads
// fail, instead of ending the process before it has released its locks. Unlike
// ignoring the signal, this is not handed on to commands.
func (s *system) surviveClosedPipes() (undo func()) {
	c := make(chan os.Signal, 1)
	s.notify(c, syscall.SIGPIPE)
	return func() { s.stopNotify(c) }
}

// getenv returns a variable; "" if it is not set.
func (s *system) getenv(name string) string {
	for i := len(s.environ) - 1; i >= 0; i-- {
		if value, is := strings.CutPrefix(s.environ[i], name+"="); is {
			return value
		}
	}
	return ""
}
