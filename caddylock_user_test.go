package caddylock

import (
	"archive/zip"
	"debug/buildinfo"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// userVersion is the version of this module that the users' programs ask for.
const userVersion = "v0.9.0-test"

// user is somebody's module on a machine that has never seen another one: the
// module cache is empty, and the only proxy serves this module and nothing else.
// What needs one module more fails.
type user struct {
	t   *testing.T
	dir string
	env []string
}

func newUser(t *testing.T, program string) *user {
	t.Helper()
	u := &user{t: t, dir: t.TempDir(), env: append(os.Environ(),
		"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw -buildvcs=false",
		"GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=none", "GOVCS=*:off",
		"GOMODCACHE="+t.TempDir(), "GOPROXY=file://"+filepath.ToSlash(proxyOfThis(t)),
	)}
	u.write("go.mod", "module example.com/user\n\ngo 1.26.0\n")
	u.write("main.go", program)
	return u
}

// proxyOfThis makes the folder of a module proxy that has this checkout as its
// only module.
func proxyOfThis(t *testing.T) string {
	t.Helper()
	proxy := t.TempDir()
	versions := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	goMod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"list":                userVersion + "\n",
		userVersion + ".info": `{"Version":"` + userVersion + `"}`,
		userVersion + ".mod":  string(goMod),
	} {
		write(t, filepath.Join(versions, name), content)
	}
	zipThis(t, filepath.Join(versions, userVersion+".zip"))
	return proxy
}

// zipThis packs the checkout as a proxy serves it. Only sources matter here.
func zipThis(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	packed := zip.NewWriter(file)
	err = fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" && name != "go.mod" {
			return err
		}
		return pack(packed, name)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
}

func pack(packed *zip.Writer, name string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	entry, err := packed.Create(module + "@" + userVersion + "/" + filepath.ToSlash(name))
	if err != nil {
		return err
	}
	_, err = entry.Write(content)
	return err
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (u *user) write(name, content string) { write(u.t, filepath.Join(u.dir, name), content) }

func (u *user) read(name string) string {
	u.t.Helper()
	content, err := os.ReadFile(filepath.Join(u.dir, name))
	if err != nil {
		u.t.Fatal(err)
	}
	return string(content)
}

// run runs a command in the user's module and returns all that it says.
func (u *user) run(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(u.t.Context(), name, args...)
	cmd.Dir, cmd.Env = u.dir, u.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is run for what has to succeed.
func (u *user) must(name string, args ...string) string {
	u.t.Helper()
	out, err := u.run(name, args...)
	if err != nil {
		u.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

const programWithLocks = `package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/client/fence"
)

func main() {
	locks, err := client.New(os.Args[1:], client.WithUnavailableAfter(0))
	if err != nil {
		panic(err)
	}
	defer locks.Close(context.Background())
	var guard fence.Memory
	err = locks.Do(context.Background(), "orders/42", func(ctx context.Context) error {
		return guard.Do("orders/42", client.TokenFrom(ctx), func() error { return nil })
	})
	fmt.Println(errors.Is(err, client.ErrUnavailable))
}
`

// TestAUsersProgramGetsNoCaddy goes the way of a user: go get, go mod tidy, go
// build. The go command never so much as asks for another module.
func TestAUsersProgramGetsNoCaddy(t *testing.T) {
	t.Parallel()
	u := newUser(t, programWithLocks)
	u.must("go", "get", module+"/client@"+userVersion)
	u.must("go", "mod", "tidy")
	u.must("go", "vet", ".")
	u.must("go", "build", "-o", "program", ".")

	for _, line := range strings.Split(strings.TrimSpace(u.read("go.sum")), "\n") {
		if !strings.HasPrefix(line, module+" ") {
			t.Errorf("go.sum has %q, want lines of %s alone", line, module)
		}
	}
	program := filepath.Join(u.dir, "program")
	built, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Deps) != 1 || built.Deps[0].Path != module {
		t.Errorf("the program is built from %v, want %s alone", built.Deps, module)
	}
	nobody := "unix/" + filepath.Join(t.TempDir(), "nobody.sock")
	if out := u.must(program, nobody); out != "true\n" {
		t.Errorf("without a server the program says %q, want that none is available", out)
	}
}

// TestAProgramWithTheServerNeedsCaddy shows that the test above would notice.
func TestAProgramWithTheServerNeedsCaddy(t *testing.T) {
	t.Parallel()
	u := newUser(t, "package main\n\nimport _ \""+module+"\"\n\nfunc main() {}\n")
	out, err := u.run("go", "get", module+"@"+userVersion)
	if err == nil {
		out, err = u.run("go", "mod", "tidy")
	}
	if err == nil || !strings.Contains(out, "github.com/caddyserver/") {
		t.Errorf("the go command says %q, %v, want that it misses Caddy", out, err)
	}
}

// The database that package sqltest brings is for tests alone.
func TestTheServerGetsNoDatabaseDriver(t *testing.T) {
	t.Parallel()
	for _, dep := range dependencies(t, module) {
		if strings.HasPrefix(dep, "modernc.org/") {
			t.Errorf("the server depends on %s", dep)
		}
	}
}
