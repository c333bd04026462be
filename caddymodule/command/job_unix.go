//go:build unix

package command

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// resumeTimeout is how long a stop of the wrapper may take to have begun. None
// begins where nobody could end it, as in a container's first process.
const resumeTimeout = 200 * time.Millisecond

// job is the command of a run with its process group. One goroutine uses it.
type job struct {
	pid int
	// terminal is what the group has while the command runs; nil if there is none.
	terminal *terminal
	// stopped is told when the command was stopped; ended is closed when it has
	// ended, and status then says how.
	stopped chan struct{}
	ended   chan struct{}
	status  syscall.WaitStatus
}

// startJob starts the command at path as the leader of a new process group, in the
// foreground if the wrapper is. The files are its standard ones.
func startJob(path string, argv, environ []string, files []*os.File) (*job, error) {
	adoptOrphans()
	j := &job{stopped: make(chan struct{}, 1), ended: make(chan struct{})}
	j.terminal = foregroundTerminal(files[0])
	attr := &os.ProcAttr{Env: environ, Files: files, Sys: j.attributes()}
	started := make(chan error, 1)
	go func() {
		// The command dies with the thread that starts it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		process, err := os.StartProcess(path, argv, attr)
		if err == nil {
			j.pid = process.Pid
			_ = process.Release()
		}
		started <- err
		if err == nil {
			j.watch()
		}
	}()
	return j, <-started
}

func (j *job) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if j.terminal != nil {
		attr.Foreground, attr.Ctty = true, j.terminal.fd
	}
	dieWithWrapper(attr)
	return attr
}

// watch reaps the command when it has ended.
func (j *job) watch() {
	for {
		_, err := syscall.Wait4(j.pid, &j.status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err == nil && j.status.Stopped():
			select {
			case j.stopped <- struct{}{}:
			default:
			}
		default:
			close(j.ended)
			return
		}
	}
}

// code is what a shell would say of how the command ended.
func (j *job) code() int {
	if j.status.Signaled() {
		return exitSignal + int(j.status.Signal())
	}
	return j.status.ExitStatus()
}

// pass sends the group a signal.
func (j *job) pass(sig os.Signal) {
	if number, is := sig.(syscall.Signal); is {
		_ = syscall.Kill(-j.pid, number)
	}
}

// end asks the group to end. What is stopped could not hear it.
func (j *job) end() {
	j.pass(syscall.SIGTERM)
	j.pass(syscall.SIGCONT)
}

func (j *job) kill() { j.pass(syscall.SIGKILL) }

// alive reports whether anything of the group is left, once the command itself has
// ended. As long as there is, the system gives the group's number to nobody else.
func (j *job) alive() bool {
	for {
		var status syscall.WaitStatus
		if pid, err := syscall.Wait4(-j.pid, &status, syscall.WNOHANG, nil); pid <= 0 && err != syscall.EINTR {
			break
		}
	}
	return syscall.Kill(-j.pid, 0) != syscall.ESRCH
}

func (j *job) hasTerminal() bool { return j.terminal != nil }

// takeTerminal gives the terminal back to the wrapper's group.
func (j *job) takeTerminal() {
	if j.terminal != nil && j.terminal.has(j.pid) {
		j.terminal.give(unix.Getpgrp())
	}
}

// suspend stops the wrapper's own group, after the terminal has stopped the
// command: the shell waits for that. It returns when the shell has continued it.
// Without a terminal there is no such shell, and the lock is kept for a command
// that is stopped.
func (j *job) suspend(signals <-chan os.Signal) (suspended bool) {
	if j.terminal == nil || !j.terminal.has(j.pid) {
		return false
	}
	j.takeTerminal()
	_ = syscall.Kill(0, unix.SIGTSTP)
	resumed := time.After(resumeTimeout)
	for {
		select {
		case sig := <-signals:
			if sig == unix.SIGCONT {
				return true
			}
			j.pass(sig)
		case <-resumed:
			return true
		}
	}
}

// resume continues the command, with the terminal if the shell gave it back.
func (j *job) resume() {
	if j.terminal != nil && j.terminal.has(unix.Getpgrp()) {
		j.terminal.give(j.pid)
	}
	j.pass(syscall.SIGCONT)
}
