package caddymodule

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

var update = flag.Bool("update", false, "write what Caddyfiles of testdata/adapt are adapted to into them")

// The files are a Caddyfile and the JSON it means.
func TestCaddyfilesMeanTheirJSON(t *testing.T) {
	const divider = "----------\n"
	files, err := filepath.Glob("testdata/adapt/*.caddyfiletest")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			config, want, _ := strings.Cut(string(file), divider)
			got := indented(t, config)
			if *update {
				if err := os.WriteFile(path, []byte(config+divider+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("adapted to\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// indented adapts a Caddyfile for people to read.
func indented(t *testing.T, config string) string {
	t.Helper()
	adapted, err := adapt(config)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, adapted, "", "\t"); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}

func TestCaddyfilesToCopyAreFormatted(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/*.caddyfile")
	for _, path := range append(files, "../caddyfile.example") {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if formatted := caddyfile.Format(file); !bytes.Equal(formatted, file) {
			t.Errorf("caddy fmt changes %s to\n%s", path, formatted)
		}
	}
}

func TestCaddyfilesAreRefusedWithWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	const (
		options      = "write one of max_lease, max_keys, max_waiters_per_key, max_connections, max_key_bytes, max_outbox, reconnect_grace, client_timeout, shutdown_timeout"
		guardOptions = "write one of handshake_timeout, max_connections"
	)
	for _, c := range []struct{ config, want string }{
		{app("max_lese 1h"), "lock has no option 'max_lese'; " + options},
		{app("max_keys 5\nmax_keys 6"), "lock has the option max_keys twice; write it once"},
		{app("max_lease"), "lock option max_lease has no value; write a duration, such as 'max_lease 24h'"},
		{app("max_keys"), "lock option max_keys has no value; write a whole number, such as 'max_keys 10000000'"},
		{app("max_lease soon"), "lock option max_lease cannot be 'soon'; write a duration above 0, such as 'max_lease 24h', or leave it out"},
		{app("max_lease 5"), "lock option max_lease cannot be '5'; write a duration above 0, such as 'max_lease 24h', or leave it out"},
		{app("reconnect_grace 0s"), "lock option reconnect_grace cannot be '0s'; write a duration above 0, such as 'reconnect_grace 5s', or leave it out"},
		{app("client_timeout -1s"), "lock option client_timeout cannot be '-1s'; write a duration above 0, such as 'client_timeout 15s', or leave it out"},
		{app("max_keys many"), "lock option max_keys cannot be 'many'; write a whole number above 0, such as 'max_keys 10000000', or leave it out"},
		{app("max_keys 1.5"), "lock option max_keys cannot be '1.5'; write a whole number above 0, such as 'max_keys 10000000', or leave it out"},
		{app("max_keys 0"), "lock option max_keys cannot be '0'; write a whole number above 0, such as 'max_keys 10000000', or leave it out"},
		{app("max_keys 99999999999999999999"), "lock option max_keys cannot be '99999999999999999999'; write a whole number above 0, such as 'max_keys 10000000', or leave it out"},
		{app("max_lease 1h 2h"), "lock option max_lease takes one value, but has also '2h'; write one"},
		{app("max_lease 1h {\nx\n}"), "lock option max_lease takes no block; write 'max_lease 1h'"},
		{"{\nlock max_lease 1h\n}", "lock takes nothing on its line, but has 'max_lease'; write its options into a block, { … }"},
		{"{\nlock {\nmax_keys 5\n}\nlock {\nmax_lease 1h\n}\n}", "there are two global options lock; write all options of the lock server into one"},
		{route("lock now"), "lock takes nothing on its line, but has 'now'; write nothing after it"},
		{route("lock {\nmax_lease 1h\n}"), "lock has no option 'max_lease'; write it without a block"},
		{route("lock_guard 10s\nlock"), "lock_guard takes nothing on its line, but has '10s'; write its options into a block, { … }"},
		{route("lock_guard {\ntimeout 10s\n}\nlock"), "lock_guard has no option 'timeout'; " + guardOptions},
		{route("lock_guard {\nhandshake_timeout\n}\nlock"), "lock_guard option handshake_timeout has no value; write a duration, such as 'handshake_timeout 10s'"},
		{route("lock_guard {\nmax_connections few\n}\nlock"), "lock_guard option max_connections cannot be 'few'; write a whole number above 0, such as 'max_connections 5000', or leave it out"},
		{matched("lock now"), "lock takes nothing on its line, but has 'now'; write nothing after it"},
		{matched("lock {\nnow\n}"), "lock has no option 'now'; write it without a block"},
	} {
		_, err := adapt(c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("adapting\n%s\nerror: %v\nwant:  %s", c.config, err, c.want)
		}
	}
}

// app is a configuration with options of the lock app.
func app(options string) string { return fmt.Sprintf("{\nlock {\n%s\n}\n}", options) }

// route is a configuration with a route of these handlers.
func route(handlers string) string {
	return fmt.Sprintf("{\nlayer4 {\n:7301 {\nroute {\n%s\n}\n}\n}\n}", handlers)
}

// matched is a configuration with a route that has this matcher.
func matched(matcher string) string {
	return fmt.Sprintf("{\nlayer4 {\n:7301 {\n@m {\n%s\n}\nroute @m {\nlock\n}\n}\n}\n}", matcher)
}
