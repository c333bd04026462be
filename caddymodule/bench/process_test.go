package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
)

// process is a server that is measured: a child, and the control pipe to it.
// One goroutine uses it at a time.
type process struct {
	role      string
	addr      string
	cmd       *exec.Cmd
	questions io.WriteCloser
	answers   *bufio.Reader
	ended     chan struct{} // closed once the child has ended
}

// startProcess starts the test binary again in a role, waits until it answers,
// and ends it with the benchmark.
func startProcess(b *testing.B, role, addr string, env ...string) *process {
	b.Helper()
	if !supported {
		b.Skip("the processor time and memory of another process are read on Linux only")
	}
	p := &process{role: role, addr: addr, ended: make(chan struct{})}
	if err := p.start(b, env); err != nil {
		b.Fatalf("starting the %s: %v", role, err)
	}
	b.Cleanup(func() { p.stop(b) })
	p.awaitReady(b)
	return p
}

func (p *process) start(b *testing.B, env []string) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(b.TempDir(), p.role+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(binary)
	p.cmd.Env = append(os.Environ(), roleVariable+"="+p.role, addressVariable+"="+p.addr)
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = log
	if p.questions, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	answers, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.answers = bufio.NewReader(answers)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = p.cmd.Process.Wait()
		close(p.ended)
	}()
	b.Cleanup(func() { showLog(b, log.Name()) })
	return nil
}

// stop closes the control pipe, which ends the child.
func (p *process) stop(b *testing.B) {
	p.questions.Close()
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		b.Errorf("the %s did not end within %s; killing it", p.role, stopTimeout)
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// showLog shows what a server had to say, if the benchmark failed.
func showLog(b *testing.B, name string) {
	if !b.Failed() {
		return
	}
	const most = 4 << 10
	text, _ := os.ReadFile(name)
	b.Logf("end of %s:\n%s", filepath.Base(name), text[max(0, len(text)-most):])
}

func (p *process) awaitReady(b *testing.B) {
	b.Helper()
	for end := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		err := p.query()
		if err == nil {
			return
		}
		select {
		case <-p.ended:
			b.Fatalf("the %s ended before it answered", p.role)
		default:
		}
		if time.Now().After(end) {
			b.Fatalf("the %s did not answer within %s: %v", p.role, startTimeout, err)
		}
	}
}

// query fails while the lock server has a listener but does not decide yet.
func (p *process) query() error {
	t, err := dialTalker(p.addr)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.expect("Q ready", "Q ")
}

// usage returns what the process has taken until now.
func (p *process) usage() (usage, error) { return p.ask(askUsage) }

// collect makes the process collect its garbage and returns what is left.
func (p *process) collect(b *testing.B) usage {
	b.Helper()
	u, err := p.ask(askGC)
	if err != nil {
		b.Fatal(err)
	}
	return u
}

func (p *process) ask(question string) (usage, error) {
	var u usage
	if _, err := io.WriteString(p.questions, question+"\n"); err != nil {
		return u, fmt.Errorf("asking the %s for its %s: %w", p.role, question, err)
	}
	answer, err := p.answers.ReadString('\n')
	if err != nil {
		return u, fmt.Errorf("asking the %s for its %s: %w", p.role, question, err)
	}
	if _, err := fmt.Sscanf(answer, usageFormat, &u.cpu, &u.rss, &u.heap); err != nil {
		return u, fmt.Errorf("the %s answered %q: %w", p.role, strings.TrimSpace(answer), err)
	}
	return u, nil
}

// freeAddress returns a loopback address that nobody listened at a moment ago.
func freeAddress(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
