package caddymodule

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a caddy in a process of its own: this test binary, or the one that
// CADDYLOCK_BINARY names.
type process struct {
	t    *testing.T
	home *home
	cmd  *exec.Cmd
	// log is the file that its output goes to.
	log string
	// ended is closed when it has ended; err then says how.
	ended chan struct{}
	err   error
}

// home is what outlives processes: their folders, and where they listen.
type home struct {
	t *testing.T
	// dir is the data and configuration folder. It has a short name, because
	// that of a Unix socket is limited.
	dir  string
	addr string
	// descriptors is the processes' limit of open files; 0 leaves it as it is.
	descriptors int
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := os.MkdirTemp("", "lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &home{t: t, dir: dir, addr: freeAddr(t)}
}

// config is a configuration that serves locks in the clear.
func (h *home) config(lockOptions string, more ...string) string {
	return strings.Replace(plain(h.addr, lockOptions, more...), "admin off", "admin "+h.admin(), 1)
}

// admin is the address of the admin endpoint.
func (h *home) admin() string { return "unix/" + h.dir + "/admin.sock" }

// caddy is a command of caddy's.
func (h *home) caddy(args ...string) *exec.Cmd {
	h.t.Helper()
	binary := os.Getenv("CADDYLOCK_BINARY")
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			h.t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, args...)
	if h.descriptors != 0 {
		limited := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, h.descriptors)
		cmd = exec.Command("sh", append([]string{"-c", limited, binary}, args...)...)
	}
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), asCaddy+"=1", "HOME="+h.dir, "XDG_DATA_HOME="+h.dir, "XDG_CONFIG_HOME="+h.dir)
	return cmd
}

// write writes a configuration file.
func (h *home) write(config string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, "Caddyfile")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// start runs caddy with a configuration. It is killed when the test ends.
func (h *home) start(config string) *process {
	h.t.Helper()
	p := &process{t: h.t, home: h, ended: make(chan struct{})}
	p.cmd = h.caddy("run", "--config", h.write(config), "--adapter", "caddyfile")
	log, err := os.CreateTemp(h.dir, "log")
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p.log = log.Name()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	h.t.Cleanup(p.clean)
	return p
}

// serve runs caddy with a configuration and waits until it answers.
func (h *home) serve(config string) *process {
	h.t.Helper()
	p := h.start(config)
	p.wantAnswers()
	return p
}

// clean kills the process, and shows what it said if the test failed.
func (p *process) clean() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	if p.t.Failed() {
		p.t.Logf("the log of caddy:\n%s", p.output())
	}
}

func (p *process) output() string {
	out, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Error(err)
	}
	return string(out)
}

// wantAnswers waits until the lock server answers. It listens before it is
// ready, since Caddy starts apps in random order.
func (p *process) wantAnswers() {
	p.t.Helper()
	eventually(p.t, func() error {
		select {
		case <-p.ended:
			p.t.Fatalf("caddy ended: %v", p.err)
		default:
		}
		return answers(p.home.addr)
	})
}

// answers asks whether a lock server that is ready is at an address.
func answers(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, "Q nobody's\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(answer, "Q 0 ") {
		err = fmt.Errorf("the server answers %q", answer)
	}
	return err
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// wantEnd waits for the process to end, and returns its exit status.
func (p *process) wantEnd() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("caddy does not end")
	}
	if exit, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return exit.ExitCode()
	}
	return 0
}

// wantStopped waits for the process to end in good order.
func (p *process) wantStopped() {
	p.t.Helper()
	if status := p.wantEnd(); status != 0 {
		p.t.Fatalf("caddy ended with status %d", status)
	}
}

// kill ends the process in no order at all.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.wantEnd()
}
