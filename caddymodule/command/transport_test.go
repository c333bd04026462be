//go:build unix

package command

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/caddylock/caddylock/caddymodule/load"
)

// forward hands connections on to the shell's server.
func (s *shell) forward(listener net.Listener) {
	s.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.join(conn)
		}
	}()
}

func (s *shell) join(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	server, err := net.Dial("tcp", s.addr)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, conn)
		_ = server.Close()
	}()
	_, _ = io.Copy(conn, server)
}

func TestProcessSpeaksTLS(t *testing.T) {
	s := newShell(t)
	s.serve()
	web := httptest.NewTLSServer(nil) // for its certificate: of 127.0.0.1 and example.com
	defer web.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	s.forward(listener)
	ca := filepath.Join(s.dir, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if out, _ := s.want(0, "query", "--addr", addr, "--ca", ca, "k"); out != "k free\n" {
		t.Errorf("query says %q", out)
	}
	s.want(0, "query", "--addr", addr, "--ca", ca, "--server-name", "example.com", "k")
	s.want(0, "bench", "--addr", addr, "--ca", ca, "--workload", "1x1", "--duration", "10ms")
	if _, says := s.want(69, "query", "--addr", addr, "--ca", ca, "--server-name", "other.org", "--unavailable-after", "0", "k"); !strings.Contains(says, "other.org") {
		t.Errorf("with another name it says %q", says)
	}
	if _, says := s.want(69, "query", "--addr", addr, "--tls", "--unavailable-after", "0", "k"); !strings.Contains(says, "certificate") {
		t.Errorf("without the CA it says %q", says)
	}
}

func TestProcessSpeaksOverAUnixSocket(t *testing.T) {
	s := newShell(t)
	s.serve()
	dir, err := os.MkdirTemp("", "lock") // short, as the path of a socket has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s.forward(listener)
	s.want(0, "run", "--addr", "unix/"+path, "k", "--", "true")
	s.want(0, "bench", "--addr", "unix/"+path, "--workload", "1x1", "--duration", "10ms")
}

func TestProcessAReleaseThatNobodyTakesIsAWarning(t *testing.T) {
	s := newShell(t)
	server := s.serve()
	cmd := s.begin("k", []string{"--lease", "10m"}, `trap 'exit 4' USR1; echo begun; while :; do sleep 0.05; done`)
	_ = server.Process.Kill()
	_ = server.Wait()
	_ = cmd.Process.Signal(syscall.SIGUSR1)
	s.wantEnd(cmd, 4)
	if !s.printed("k", "warning: the lock is left to its lease") {
		t.Error("the wrapper does not warn")
	}
}

func TestErrorsOfTheBenchHaveTheirExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
	}{
		{&load.MovedError{}, exitUnavailable},
		{&load.RefusedError{}, exitRefused},
		{io.EOF, exitUnavailable},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, exitUnavailable},
		{errors.New("a reply to nothing"), exitOther},
	} {
		if got := codeOf(benchError(load.Workload{Connections: 1, InFlight: 1}, c.err)); got != c.code {
			t.Errorf("%v exits with %d, not %d", c.err, got, c.code)
		}
	}
}
