package caddymodule

import (
	"fmt"
	"os"
	"testing"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	// What a custom Caddy is built from.
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	_ "github.com/mholt/caddy-l4"
)

// asCaddy makes this test binary a caddy: process tests run it again as one.
const asCaddy = "CADDYLOCK_TEST_AS_CADDY"

func TestMain(m *testing.M) {
	if os.Getenv(asCaddy) != "" {
		caddycmd.Main()
		return
	}
	os.Exit(runTests(m))
}

// runTests keeps every test, and every process of one, out of the user's own
// Caddy folders.
func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "caddymodule-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	useFolders(dir, os.Setenv)
	return m.Run()
}
