package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caddylock/caddylock/client"
)

const (
	// pollInterval is how often a group is looked at whose leader has ended: the
	// system tells nobody when it becomes empty.
	pollInterval = 20 * time.Millisecond
	// killTimeout is how long what was killed may take to be gone. What hangs in
	// the kernel may take for ever.
	killTimeout = 10 * time.Second
)

// commandEnded is the exit code of a command that ended under its lock. There is
// nothing to say about it.
type commandEnded struct{ code int }

func (s *commandEnded) Error() string { return fmt.Sprintf("the command exited with code %d", s.code) }

// watch is a command that runs under a lock.
type watch struct {
	run  *run
	name string // of the subcommand, for what it says
	lock *client.Lock
	job  *job
	// lost says that the lock ended while something of the command ran.
	lost bool
	// steps is what is done next to end the group, and when.
	steps []step
	timer *time.Timer
	// paused says that the command waits to be continued.
	paused bool
	ticker *time.Ticker
}

type step struct {
	after time.Duration
	do    func()
}

// untilGone waits until nothing of the command's group is left, and reports
// whether that came about.
func (w *watch) untilGone() (gone bool) {
	w.timer, w.ticker = time.NewTimer(0), time.NewTicker(pollInterval)
	w.timer.Stop()
	w.ticker.Stop()
	defer w.timer.Stop()
	defer w.ticker.Stop()
	lost, ended := w.lock.Done(), w.job.ended
	for stuck := false; !stuck; {
		select {
		case sig := <-w.run.signals:
			w.job.pass(sig)
		case <-w.job.stopped:
			w.suspend()
		case <-lost:
			lost = nil
			w.endBecauseLost()
		case <-ended:
			ended = nil
			if w.commandEnded(); !w.job.alive() {
				return true
			}
		case <-w.ticker.C:
			if w.look(); ended == nil && !w.job.alive() {
				return true
			}
		case <-w.timer.C:
			stuck = !w.nextStep()
		}
	}
	return false
}

// endBecauseLost ends whatever of the group still runs.
func (w *watch) endBecauseLost() {
	w.lost = true
	w.job.end()
	w.escalate(step{w.run.grace, w.job.kill}, step{killTimeout, nil})
}

// commandEnded gives the leftovers time, unless they are being ended already.
func (w *watch) commandEnded() {
	w.job.takeTerminal()
	w.ticker.Reset(pollInterval)
	if !w.lost {
		w.escalate(step{w.run.grace, w.endLeftovers}, step{w.run.grace, w.job.kill}, step{killTimeout, nil})
	}
}

func (w *watch) endLeftovers() {
	w.run.sys.say(w.name, "the command has ended and left processes behind, which are ended now")
	w.job.end()
}

func (w *watch) escalate(steps ...step) {
	w.steps = steps
	w.timer.Reset(steps[0].after)
}

// nextStep reports whether there is another one.
func (w *watch) nextStep() bool {
	do := w.steps[0].do
	if w.steps = w.steps[1:]; len(w.steps) == 0 {
		return false
	}
	do()
	w.timer.Reset(w.steps[0].after)
	return true
}

// suspend stops the wrapper with the command, and goes on with it.
func (w *watch) suspend() {
	if !w.job.suspend(w.run.signals) {
		return
	}
	w.paused = true
	w.ticker.Reset(pollInterval)
	w.look()
}

// look continues a command that was paused, but not before it is certain that the
// lock outlasted the pause.
func (w *watch) look() {
	if w.paused && !w.lost && time.Now().Before(w.lock.Deadline()) {
		w.paused = false
		w.ticker.Stop()
		w.job.resume()
	}
}

// finish releases the lock and says how the run ended.
func (w *watch) finish(gone bool) error {
	if !gone {
		w.lock.Detach()
		return coded(exitOther, "a process of the command is left that cannot be killed; its lock on %q is left to its lease", w.lock.Key())
	}
	if w.lost {
		return coded(exitNotHeld, "%w; the command was ended", w.lock.Err())
	}
	err := w.lock.Release(context.Background())
	switch {
	case errors.Is(err, client.ErrLost):
		return coded(exitNotHeld, "%w; the command exited with code %d", err, w.job.code())
	case err != nil:
		w.run.sys.say(w.name, fmt.Sprintf("warning: the lock is left to its lease: %v", err))
	}
	return &commandEnded{w.job.code()}
}
