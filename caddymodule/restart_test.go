package caddymodule

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Names of clients, as the protocol wants them.
const (
	holderID = "holder-7Qe2mVtKx0Yp4LrWc9"
	waiterID = "waiter-7Qe2mVtKx0Yp4LrWc9"
)

// greet names the client of a connection.
func (s *speaker) greet(id string, n int) {
	s.t.Helper()
	if got := s.ask("H %s %d", id, n); !strings.HasPrefix(got, "H lock/1 active - ") {
		s.t.Fatalf("H was answered by %q", got)
	}
}

// stops are the ways to stop a process in good order.
var stops = map[string]func(*process){
	"SIGTERM": func(p *process) { p.signal(syscall.SIGTERM) },
	"SIGINT":  func(p *process) { p.signal(syscall.SIGINT) },
	"caddy stop": func(p *process) {
		if out, err := p.home.caddy("stop", "--address", p.home.admin()).CombinedOutput(); err != nil {
			p.t.Fatalf("caddy stop: %v\n%s", err, out)
		}
	},
}

func TestProcessKeepsLocksAndPlacesOverAPlannedRestart(t *testing.T) {
	t.Parallel()
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			config := h.config("reconnect_grace 1m")
			p := h.serve(config)

			holder, waiter := speak(t, h.addr), speak(t, h.addr)
			holder.greet(holderID, 1)
			token := holder.granted(holder.ask("A#1 3600 0 k"), "k")
			waiter.greet(waiterID, 1)
			waiter.say("A#5 60 0 k")
			waiter.expect("P", "P") // now it is in the queue
			stop(p)
			holder.wantClosed()
			waiter.wantClosed()
			p.wantStopped()

			h.serve(config)
			newcomer := speak(t, h.addr)
			newcomer.wantHeld("k", token)
			newcomer.say("A 60 0 k")
			newcomer.expect("P", "P") // now it is in the queue
			waiter = speak(t, h.addr)
			waiter.greet(waiterID, 2)
			waiter.expect("X 1", "X 1")
			waiter.say("A#5 60 0 k")
			waiter.expect("P", "P")
			speak(t, h.addr).release("k", token)
			next := waiter.granted(waiter.hear(), "k")
			if next <= token {
				t.Errorf("the token after %d is %d", token, next)
			}
			waiter.release("k", next)
			newcomer.granted(newcomer.hear(), "k")
		})
	}
}

func TestProcessThatWasKilledLosesLocksButNotTheOrderOfTokens(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	config := h.config("")
	var last uint64
	for range 4 {
		p := h.serve(config)
		token := speak(t, h.addr).acquire("k", "3600")
		if token <= last {
			t.Fatalf("the token after %d is %d", last, token)
		}
		last = token
		p.kill()
	}
}

func TestProcessThatWasKilledDoesNotBringReleasedLocksBack(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	config := h.config("")
	p := h.serve(config)
	token := speak(t, h.addr).acquire("k", "3600")
	p.signal(syscall.SIGTERM)
	p.wantStopped()

	p = h.serve(config)
	speak(t, h.addr).release("k", token)
	p.kill()

	h.serve(config)
	speak(t, h.addr).wantHeld("k", 0)
}

func TestProcessIsRefusedBesideAnother(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := h.serve(h.config(""))
	token := speak(t, h.addr).acquire("k", "3600")

	second := h.start(plain(freeAddr(t), ""))
	if status := second.wantEnd(); status == 0 {
		t.Error("the second process ended as if nothing was wrong")
	}
	want := "another caddy process already serves this lock node: it holds " + filepath.Join(h.dir, "caddy/lock/node.lock")
	if !strings.Contains(second.output(), want) {
		t.Errorf("the second process said\n%s\nwant: %s", second.output(), want)
	}
	speak(t, h.addr).wantHeld("k", token)

	first.signal(syscall.SIGTERM)
	first.wantStopped()
	h.serve(h.config(""))
	speak(t, h.addr).wantHeld("k", token)
}

func TestProcessSetsADamagedStateAside(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.serve(h.config(""))
	token := speak(t, h.addr).acquire("k", "3600")
	p.signal(syscall.SIGTERM)
	p.wantStopped()

	path := h.stateFile()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file[len(file)/2] ^= 1
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}

	p = h.serve(h.config(""))
	s := speak(t, h.addr)
	s.wantHeld("k", 0)
	if next := s.acquire("k", "60"); next <= token {
		t.Errorf("the token after %d is %d", token, next)
	}
	if !strings.Contains(p.output(), "a damaged state file is set aside") {
		t.Error("nothing is said about the damaged file")
	}
	if aside, err := os.ReadFile(path + ".damaged"); err != nil || string(aside) != string(file) {
		t.Errorf("the damaged file is not kept: %v", err)
	}
}

// stateFile finds what a stopped process left. It waits for that.
func (h *home) stateFile() string {
	h.t.Helper()
	var paths []string
	eventually(h.t, func() error {
		paths, _ = filepath.Glob(filepath.Join(h.dir, "caddy/caddylock/*/node/state"))
		if len(paths) != 1 {
			return fmt.Errorf("there are %d state files in %q, want one", len(paths), filesIn(h.t, h.dir))
		}
		return nil
	})
	return paths[0]
}

// An HTTP request that never ends keeps Caddy from stopping its http app, and so
// from ever ending.
func TestProcessStoresItsLocksAlthoughHTTPHangs(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	h := newHome(t)
	site := freeAddr(t)
	config := h.config("") + fmt.Sprintf("http://%s {\n\treverse_proxy %s\n}\n", site, silent.Addr())
	p := h.serve(config)
	s := speak(t, h.addr)
	token := s.acquire("k", "3600")
	hanging := speak(t, site)
	hanging.say("GET / HTTP/1.1\r\nHost: %s\r\n\r", site)
	if _, err := silent.Accept(); err != nil {
		t.Fatal(err)
	}

	p.signal(syscall.SIGTERM)
	s.wantClosed()
	h.stateFile()
	select {
	case <-p.ended:
		t.Error("caddy ended: the test does not show what it is to show")
	default:
	}
	p.kill()
	h.serve(config)
	speak(t, h.addr).wantHeld("k", token)
}

func TestProcessEndsAlthoughClientsDoNot(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.serve(h.config("shutdown_timeout 200ms"))
	for range 50 {
		speak(t, h.addr).say("A 60 0 k")
	}
	p.signal(syscall.SIGTERM)
	p.wantStopped()
}

func TestProcessReloadsWithoutLosingLocks(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.serve(h.config("max_lease 1h"))
	s := speak(t, h.addr)
	token := s.acquire("k", "3600")

	reload := func(config string) (string, error) {
		out, err := h.caddy("reload", "--config", h.write(config), "--adapter", "caddyfile", "--address", h.admin()).CombinedOutput()
		return string(out), err
	}
	if out, err := reload(h.config("max_lease 1m")); err != nil {
		t.Fatalf("caddy reload: %v\n%s", err, out)
	}
	s.expect("A 3600 0 other", "E A bad-lease other")
	if out, err := reload(h.config("max_keys none")); err == nil || !strings.Contains(out, "write a whole number") {
		t.Errorf("caddy reload of a bad configuration: %v\n%s", err, out)
	}
	s.wantHeld("k", token)
	s.release("k", token)
}

func TestProcessValidatesAdaptsAndLists(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := h.write(h.config("max_lease 1h"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"validate", "--config", path, "--adapter", "caddyfile"}, "Valid configuration"},
		{[]string{"adapt", "--config", path, "--adapter", "caddyfile"}, `"lock":{"max_lease":3600000000000}`},
		{[]string{"list-modules"}, "layer4.handlers.lock_guard"},
	} {
		out, err := h.caddy(c.args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("caddy %s: %v, want %q in\n%s", c.args[0], err, c.want, out)
		}
	}
}
