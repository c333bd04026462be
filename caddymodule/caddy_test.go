package caddymodule

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	// The adapter, and its global options.
	_ "github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

// adapt turns a Caddyfile into JSON.
func adapt(config string) ([]byte, error) {
	json, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(config), map[string]any{"filename": "Caddyfile"})
	return json, err
}

// load makes the Caddyfile the running configuration of this process.
func load(config string) error {
	json, err := adapt(config)
	if err != nil {
		return err
	}
	return caddy.Load(json, true)
}

// run starts Caddy in this process, with folders of its own, until the test
// ends. Caddy is one per process, so such tests cannot be parallel.
func run(t *testing.T, config string) {
	t.Helper()
	freshFolders(t)
	mustLoad(t, config)
	t.Cleanup(func() { stop(t) })
}

func mustLoad(t *testing.T, config string) {
	t.Helper()
	if err := load(config); err != nil {
		t.Fatalf("loading %s: %v", config, err)
	}
}

func stop(t *testing.T) {
	t.Helper()
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
}

// freeAddr returns an address on this machine that nobody listens at.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

// plain is a configuration that serves locks at an address, with options of the
// lock app and more global options.
func plain(addr string, lockOptions string, more ...string) string {
	return fmt.Sprintf(`{
	admin off
	lock {
		%s
	}
	layer4 {
		%s {
			route {
				lock
			}
		}
	}
	%s
}
`, lockOptions, addr, strings.Join(more, "\n"))
}

// configFile returns a file of testdata, or another, with old strings replaced by
// new ones. Every old one has to be in it, so that a file cannot drift from its
// test.
func configFile(t *testing.T, path string, oldnew ...string) string {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config := string(file)
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(config, oldnew[i]) {
			t.Fatalf("%s does not contain %q", path, oldnew[i])
		}
		config = strings.ReplaceAll(config, oldnew[i], oldnew[i+1])
	}
	return config
}
