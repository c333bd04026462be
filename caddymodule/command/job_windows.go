package command

import "os"

// job is the command of a run. Windows has no process groups like those of Unix:
// what the command starts is not followed, Ctrl+C reaches the command through the
// console, and to end a command is to kill it.
type job struct {
	process *os.Process
	stopped chan struct{} // is told nothing
	ended   chan struct{}
	state   *os.ProcessState
}

func startJob(path string, argv, environ []string, files []*os.File) (*job, error) {
	process, err := os.StartProcess(path, argv, &os.ProcAttr{Env: environ, Files: files})
	if err != nil {
		return nil, err
	}
	j := &job{process: process, ended: make(chan struct{})}
	go func() {
		defer close(j.ended)
		j.state, _ = process.Wait()
	}()
	return j, nil
}

func (j *job) code() int {
	if j.state == nil {
		return exitOther
	}
	return j.state.ExitCode()
}

// pass does nothing: the console tells the command itself.
func (j *job) pass(os.Signal) {}

func (j *job) end() { j.kill() }

func (j *job) kill() { _ = j.process.Kill() }

func (j *job) alive() bool { return false }

func (j *job) hasTerminal() bool { return false }

func (j *job) takeTerminal() {}

func (j *job) suspend(<-chan os.Signal) (suspended bool) { return false }

func (j *job) resume() {}
