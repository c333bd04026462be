package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// newTerminal returns both ends of a pseudo terminal: what a person types goes
// into ours.
func newTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	fd := int(ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

// onTerminal starts a run whose controlling terminal is the one that it returns.
// The command writes to the file out.
func (s *shell) onTerminal(script string) (cmd *exec.Cmd, keyboard *os.File) {
	s.t.Helper()
	cmd = s.caddy("lock", "run", "k", "--", "sh", "-c", script)
	keyboard = s.startOnTerminal(cmd)
	s.eventually("the command has begun", func() bool { return strings.Contains(s.read("out"), "begun") })
	return cmd, keyboard
}

func (s *shell) startOnTerminal(cmd *exec.Cmd) (keyboard *os.File) {
	s.t.Helper()
	keyboard, theirs := newTerminal(s.t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return keyboard
}

// untilContinued ends with code 6 when it is continued. It starts nothing after it
// has begun: a shell whose new child is stopped before it has become another
// program waits for that and cannot stop itself.
const untilContinued = `trap 'echo continued >>out; kill $!; exit 6' CONT; sleep 1000 & echo begun >>out; wait`

// read returns what is in a file of the shell's folder; "" if there is none.
func (s *shell) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, name))
	return string(text)
}

func TestProcessCtrlCReachesTheCommandOnce(t *testing.T) {
	s := newShell(t)
	s.serve()
	cmd, keyboard := s.onTerminal(`trap 'echo int >>out' INT; trap 'exit 5' TERM; echo begun >>out; while :; do sleep 0.05; done`)
	if _, err := keyboard.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	s.eventually("the command was interrupted", func() bool { return strings.Contains(s.read("out"), "int") })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	s.wantEnd(cmd, 5)
	if n := strings.Count(s.read("out"), "int"); n != 1 {
		t.Errorf("the command was interrupted %d times", n)
	}
	if !s.isFree("k") {
		t.Error("the lock is still held")
	}
}

func TestProcessTheCommandReadsFromTheTerminal(t *testing.T) {
	s := newShell(t)
	s.serve()
	cmd, keyboard := s.onTerminal(`echo begun >>out; read line; echo "read $line" >>out`)
	if _, err := keyboard.WriteString("yes\n"); err != nil {
		t.Fatal(err)
	}
	s.wantEnd(cmd, 0)
	if !strings.Contains(s.read("out"), "read yes") {
		t.Errorf("the command wrote %q", s.read("out"))
	}
}

// Nobody could continue a wrapper that leads its session, so it does not stop, and
// continues the command.
func TestProcessCtrlZWithoutAShellDoesNotHangTheCommand(t *testing.T) {
	s := newShell(t)
	s.serve()
	cmd, keyboard := s.onTerminal(untilContinued)
	if _, err := keyboard.WriteString("\x1a"); err != nil {
		t.Fatal(err)
	}
	s.wantEnd(cmd, 6)
	if !s.isFree("k") {
		t.Error("the lock is still held")
	}
}

func TestProcessCtrlZAndFgOfAShellStopAndContinueTheCommand(t *testing.T) {
	s := newShell(t)
	s.serve()
	script := filepath.Join(s.dir, "script")
	if err := os.WriteFile(script, []byte(untilContinued), 0o600); err != nil {
		t.Fatal(err)
	}
	run := s.caddy("lock", "run", "k", "--lease", "10m", "--", "sh", script)
	interactive := exec.Command("sh", "-i")
	interactive.Dir, interactive.Env = run.Dir, append(run.Env, "PS1=")
	keyboard := s.startOnTerminal(interactive)
	types := func(text string) {
		t.Helper()
		if _, err := keyboard.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	out := func(what string) func() bool { return func() bool { return strings.Contains(s.read("out"), what) } }
	types(strings.Join(run.Args, " ") + "\n")
	s.eventually("the command has begun", out("begun"))
	types("\x1a")
	types("echo prompt >>out\n")
	s.eventually("the shell has the terminal", out("prompt"))
	if out("continued")() {
		t.Error("the command was continued before anybody asked for it")
	}
	types("fg\n")
	s.eventually("the command goes on", out("continued"))
	types("echo code $? >>out; exit\n")
	s.eventually("the command has ended", out("code 6"))
	if !s.isFree("k") {
		t.Error("the lock is still held")
	}
}
