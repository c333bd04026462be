//go:build unix

package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	_ "github.com/caddylock/caddylock/caddymodule"
)

// asCaddy makes this test binary a caddy.
const asCaddy = "CADDYLOCK_TEST_AS_CADDY"

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(asCaddy) != "" {
		caddycmd.Main()
		return
	}
	os.Exit(m.Run())
}

// shell runs "caddy lock" against a server of its own, in processes: this test
// binary, or the one that CADDYLOCK_BINARY names.
type shell struct {
	t         *testing.T
	dir, addr string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	t.Parallel()
	s := &shell{t: t, dir: t.TempDir()}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	_ = listener.Close()
	return s
}

func (s *shell) caddy(args ...string) *exec.Cmd {
	s.t.Helper()
	binary := os.Getenv("CADDYLOCK_BINARY")
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			s.t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), asCaddy+"=1", "LOCK_ADDR="+s.addr,
		"HOME="+s.dir, "XDG_DATA_HOME="+s.dir, "XDG_CONFIG_HOME="+s.dir)
	return cmd
}

// serve starts the server and waits until it answers.
func (s *shell) serve() *exec.Cmd {
	s.t.Helper()
	config := filepath.Join(s.dir, "caddy.json")
	text := fmt.Sprintf(`{"admin":{"disabled":true},"apps":{"lock":{},"layer4":{"servers":{"locks":{"listen":[%q],`+
		`"routes":[{"handle":[{"handler":"lock"}]}]}}}}}`, s.addr)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	server := s.caddy("run", "--config", config)
	if err := server.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	s.eventually("the server answers", func() bool {
		_, _, code := s.lock("query", "nobodys")
		return code == 0
	})
	return server
}

func (s *shell) eventually(what string, is func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("it never came about that %s", what)
		}
	}
}

// lock runs a subcommand to its end.
func (s *shell) lock(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	return s.finish(s.caddy(append([]string{"lock"}, args...)...))
}

func (s *shell) finish(cmd *exec.Cmd) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
		s.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// want runs a subcommand that must exit with a code, and returns what it printed.
func (s *shell) want(code int, args ...string) (stdout, stderr string) {
	s.t.Helper()
	stdout, stderr, got := s.lock(args...)
	if got != code {
		s.t.Fatalf("caddy lock %q exits with %d, not %d; it says %q", args, got, code, stderr)
	}
	if code != 0 && strings.Count(stderr, "\n") > 1 {
		s.t.Errorf("caddy lock %q says more than a sentence: %q", args, stderr)
	}
	return stdout, stderr
}

// isFree reports whether nobody holds a key.
func (s *shell) isFree(key string) bool {
	s.t.Helper()
	out, _ := s.want(0, "query", key)
	return out == key+" free\n"
}

// begin starts "caddy lock run" and waits for the command to print a line.
func (s *shell) begin(key string, flags []string, script string) *exec.Cmd {
	s.t.Helper()
	args := append(append([]string{"lock", "run", key}, flags...), "--", "sh", "-c", script)
	cmd := s.caddy(args...)
	out, err := os.Create(filepath.Join(s.dir, "out-"+strings.ReplaceAll(key, "/", "-")))
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	_ = out.Close()
	s.t.Cleanup(func() { _ = cmd.Process.Kill() })
	s.eventually("the command has begun", func() bool { return s.printed(key, "begun") })
	return cmd
}

func (s *shell) printed(key, what string) bool {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "out-"+strings.ReplaceAll(key, "/", "-")))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Contains(string(text), what)
}

// wantEnd waits for a process to end with a code.
func (s *shell) wantEnd(cmd *exec.Cmd, code int) {
	s.t.Helper()
	stop := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != code {
		s.t.Fatalf("it ends with %v, not with exit code %d", cmd.ProcessState, code)
	}
}

func TestProcessRunGivesTheCommandItsLockAndReleasesItAfterwards(t *testing.T) {
	s := newShell(t)
	s.serve()
	out, _ := s.want(0, "run", "jobs/a", "--", "sh", "-c", `echo "$LOCK_KEY $LOCK_TOKEN"`)
	key, token, _ := strings.Cut(strings.TrimSpace(out), " ")
	if number, err := strconv.ParseUint(token, 10, 64); key != "jobs/a" || err != nil || number == 0 {
		t.Errorf("the command saw %q", out)
	}
	if !s.isFree("jobs/a") {
		t.Error("the lock is held after its command has ended")
	}
}

func TestProcessRunExitsAsItsCommandDid(t *testing.T) {
	s := newShell(t)
	s.serve()
	for script, code := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9} {
		if _, stderr := s.want(code, "run", "k", "--", "sh", "-c", script); stderr != "" {
			t.Errorf("%s: the wrapper says %q", script, stderr)
		}
		if !s.isFree("k") {
			t.Errorf("%s: the lock is still held", script)
		}
	}
}

func TestProcessRunOfWhatCannotRunTakesNoLock(t *testing.T) {
	s := newShell(t) // and no server
	plain := filepath.Join(s.dir, "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want(127, "run", "k", "--", "there-is-no-such-command")
	s.want(127, "run", "k", "--", "./there-is-no-such-file")
	s.want(126, "run", "k", "--", plain)
}

func TestProcessCommandLinesThatAreWrongAreSentencesOfUsage(t *testing.T) {
	s := newShell(t)
	for _, wrong := range []struct{ args, says string }{
		{"run k", "expected a key, then --"},
		{"run k true", "expected a key, then --"},
		{"run k --wat -- true", "--wat"},
		{"run k --wait 10 -- true", "write 10s"},
		{"run k --wait 0 -- true", "--try"},
		{"run k --wait 1s --try -- true", "contradict"},
		{"run k --lease -1s -- true", "negative"},
		{"run k --lease 0 -- true", "at least"},
		{"run k --cert x -- true", "key"},
		{"run k --addr a:b -- true", "port"},
		{"acquire", "expected a key"},
		{"release k", "expected a key and a token"},
		{"release k x1", "is no token"},
		{"bench --workload fast", "NxM"},
		{"wat", "is no command"},
	} {
		stdout, stderr := s.want(64, strings.Fields(wrong.args)...)
		if !strings.Contains(stderr, wrong.says) || stdout != "" {
			t.Errorf("caddy lock %s says %q, %q; expected %q", wrong.args, stderr, stdout, wrong.says)
		}
	}
}

func TestProcessWithoutAServerIsUnavailable(t *testing.T) {
	s := newShell(t)
	for _, args := range []string{"run k --unavailable-after 0 -- true", "acquire k --unavailable-after 0",
		"keep k 5 --unavailable-after 0", "query k --unavailable-after 0", "bench --workload 1x1"} {
		s.want(69, strings.Fields(args)...)
	}
}

func TestProcessTokensGoFromAcquireToKeepAndRelease(t *testing.T) {
	s := newShell(t)
	s.serve()
	out, _ := s.want(0, "acquire", "k", "--lease", "10m")
	token := strings.TrimSuffix(out, "\n")
	if held, _ := s.want(0, "query", "k", "other"); !strings.HasPrefix(held, "k held token="+token+" ") || !strings.HasSuffix(held, "other free\n") {
		t.Errorf("query says %q of token %s", held, token)
	}
	s.want(75, "acquire", "k", "--try")
	s.want(75, "acquire", "k", "--wait", "1ms")
	s.want(75, "run", "k", "--try", "--", "true")
	s.want(77, "acquire", "other", "--lease", "100000h")
	s.want(0, "keep", "k", token, "--lease", "1m")
	fromStdin := s.caddy("lock", "release", "k", "-")
	fromStdin.Stdin = strings.NewReader(out)
	if _, stderr, code := s.finish(fromStdin); code != 0 {
		t.Errorf("release exits with %d: %s", code, stderr)
	}
	s.want(79, "release", "k", token)
	s.want(79, "keep", "k", token)
}

func TestProcessAcquireSpeaksJSON(t *testing.T) {
	s := newShell(t)
	s.serve()
	out, _ := s.want(0, "acquire", "k", "--json", "--lease", "90s")
	var got struct {
		Key, Token string
		LeaseMS    int64 `json:"lease_ms"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Key != "k" || got.LeaseMS != 90_000 || got.Token == "" {
		t.Errorf("acquire printed %q (%v)", out, err)
	}
	if held, _ := s.want(0, "query", "--json", "k"); !json.Valid([]byte(held)) || !strings.Contains(held, got.Token) {
		t.Errorf("query printed %q", held)
	}
}

func TestProcessATokenThatCannotBePrintedIsReleased(t *testing.T) {
	s := newShell(t)
	s.serve()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	cmd := s.caddy("lock", "acquire", "k")
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	s.wantEnd(cmd, 70)
	if !s.isFree("k") {
		t.Error("nobody knows the token and the lock is held")
	}
}

func TestProcessSignalsReachTheCommand(t *testing.T) {
	s := newShell(t)
	s.serve()
	cmd := s.begin("k", nil, `trap 'echo usr1' USR1; trap 'echo term; exit 3' TERM; echo begun; while :; do sleep 0.05; done`)
	_ = cmd.Process.Signal(syscall.SIGUSR1)
	s.eventually("USR1 is passed on", func() bool { return s.printed("k", "usr1") })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	s.wantEnd(cmd, 3)
	if !s.isFree("k") {
		t.Error("the lock is still held")
	}
}

func TestProcessASignalWithdrawsWhoWaits(t *testing.T) {
	s := newShell(t)
	s.serve()
	out, _ := s.want(0, "acquire", "k", "--lease", "10m")
	waiter := s.caddy("lock", "run", "k", "--", "true")
	if err := waiter.Start(); err != nil {
		t.Fatal(err)
	}
	waits := func(n string) func() bool {
		return func() bool {
			held, _ := s.want(0, "query", "k")
			return strings.Contains(held, "waiters="+n+"\n")
		}
	}
	s.eventually("it waits", waits("1"))
	_ = waiter.Process.Signal(syscall.SIGTERM)
	s.wantEnd(waiter, 128+15)
	if !waits("0")() {
		t.Error("it still waits")
	}
	s.want(0, "release", "k", strings.TrimSpace(out))
}

func TestProcessALostLockEndsTheCommand(t *testing.T) {
	s := newShell(t)
	s.serve()
	polite := s.begin("polite", []string{"--lease", "300ms"}, `echo begun; echo "$LOCK_TOKEN" >polite; exec sleep 1000`)
	stubborn := s.begin("stubborn", []string{"--lease", "300ms", "--grace", "100ms"},
		`trap '' TERM; echo begun; echo "$LOCK_TOKEN" >stubborn; while :; do sleep 0.05; done`)
	for _, key := range []string{"polite", "stubborn"} {
		var token string
		s.eventually("the token is known", func() bool {
			text, _ := os.ReadFile(filepath.Join(s.dir, key))
			token = strings.TrimSpace(string(text))
			return token != ""
		})
		s.want(0, "release", key, token)
	}
	s.wantEnd(polite, 79)
	s.wantEnd(stubborn, 79)
	for _, key := range []string{"polite", "stubborn"} {
		if !s.printed(key, "not held") && !s.printed(key, "lost") {
			t.Errorf("%s: the wrapper does not say why", key)
		}
	}
}

func TestProcessAServerThatDiesLosesTheLock(t *testing.T) {
	s := newShell(t)
	server := s.serve()
	cmd := s.begin("k", []string{"--lease", "1s"}, `echo begun; exec sleep 1000`)
	_ = server.Process.Kill()
	s.wantEnd(cmd, 79)
}

func TestProcessNoReleaseComesBeforeWhatTheCommandLeftBehindIsGone(t *testing.T) {
	s := newShell(t)
	s.serve()
	if err := syscall.Mkfifo(filepath.Join(s.dir, "wait"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := s.begin("k", []string{"--grace", "100ms"},
		`(trap '' TERM; while :; do sleep 0.05; done) >/dev/null 2>&1 & echo $! >left; echo begun; read line <wait`)
	next := s.caddy("lock", "run", "k", "--", "sh", "-c", `kill -0 $(cat left) && exit 9; exit 0`)
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	s.eventually("the next one waits", func() bool {
		held, _ := s.want(0, "query", "k")
		return strings.Contains(held, "waiters=1\n")
	})
	if err := os.WriteFile(filepath.Join(s.dir, "wait"), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	s.wantEnd(first, 0)
	s.wantEnd(next, 0)
	if !s.isFree("k") {
		t.Error("the lock is still held")
	}
}

// runs reports whether a process runs; a dead one that nobody waited for does not.
func runs(pid int) bool {
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func TestProcessBenchMeasuresAndPrints(t *testing.T) {
	s := newShell(t)
	s.serve()
	out, _ := s.want(0, "bench", "--workload", "2x4,contended3", "--duration", "50ms")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 3 || !strings.Contains(out, "p99.9") {
		t.Errorf("bench printed %q", out)
	}
	out, _ = s.want(0, "bench", "--workload", "1x1", "--duration", "50ms", "--json")
	var got struct {
		Workload string
		Pairs    int64
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Workload != "1x1" || got.Pairs == 0 {
		t.Errorf("bench printed %q (%v)", out, err)
	}
}

func TestProcessHelpHasAnExampleAndTheExitCodes(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"run", "acquire", "release", "keep", "query", "bench"} {
		out, _ := s.want(0, name, "--help")
		if !strings.Contains(out, "caddy lock "+name) || !strings.Contains(out, "Exit codes") || !strings.Contains(out, "Examples") {
			t.Errorf("caddy lock %s --help prints %q", name, out)
		}
	}
}
