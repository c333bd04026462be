package caddymodule

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// validate does what "caddy validate" does.
func validate(config []byte) error {
	var c *caddy.Config
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	return caddy.Validate(c)
}

func TestValidatingHasNoSideEffects(t *testing.T) {
	folder := freshFolders(t)
	config, err := adapt(plain(freeAddr(t), "max_lease 1h"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(config); err != nil {
		t.Fatal(err)
	}
	if files := filesIn(t, folder); len(files) != 0 {
		t.Errorf("validating wrote %q", files)
	}
	if n, exists := hosts.References(nodeName); exists {
		t.Errorf("validating left %d references to the host", n)
	}
}

func TestValidatingBesideAServerChangesNothing(t *testing.T) {
	addr := freeAddr(t)
	run(t, plain(addr, "max_lease 1h"))
	s := speak(t, addr)
	token := s.acquire("k", "60")
	for range 3 {
		config, err := adapt(plain(addr, "max_lease 1m"))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(config); err != nil {
			t.Fatal(err)
		}
	}
	s.wantHeld("k", token)
	s.acquire("another", "3600")
	if n, _ := hosts.References(nodeName); n != 1 {
		t.Errorf("there are %d references to the host, want that of the server", n)
	}
}

func TestConfigurationsAreRefusedWithWhatToWriteInstead(t *testing.T) {
	freshFolders(t)
	for _, c := range []struct{ app, guard, want string }{
		{`{"max_keys": -1}`, "", "max_keys is -1; write a number from 1 to "},
		{`{"max_waiters_per_key": -1}`, "", "max_waiters_per_key is -1; write a number from 1 to "},
		{`{"max_connections": -5}`, "", "max_connections is -5; write a number from 1 to "},
		{`{"max_key_bytes": 2000}`, "", "max_key_bytes is 2000; write a number from 1 to 1024"},
		{`{"max_outbox": 10}`, "", "max_outbox is 10; write a number from 65536 to "},
		{`{"max_lease": "-1s"}`, "", "max_lease is -1s; write a duration from 1ms to "},
		{`{"max_lease": 1}`, "", "max_lease is 1ns; write a duration from 1ms to "},
		{`{"reconnect_grace": "2h"}`, "", "reconnect_grace is 2h0m0s; write a duration from "},
		{`{"client_timeout": "1ms"}`, "", "client_timeout is 1ms; write a duration from 1s to "},
		{`{"shutdown_timeout": "1ms"}`, "", "shutdown_timeout is 1ms; write a duration from 100ms to 10m0s"},
		{`{"shutdown_timeout": "1h"}`, "", "shutdown_timeout is 1h0m0s; write a duration from 100ms to 10m0s"},
		{`{"max_lese": "1h"}`, "", `unknown field "max_lese"`},
		{`{}`, `, "handshake_timeout": "1ms"`, "handshake_timeout is 1ms; write a duration from 100ms to 10m0s"},
		{`{}`, `, "max_connections": -1`, "max_connections is -1; write a number from 1, or leave it out"},
	} {
		config := fmt.Sprintf(`{"apps": {"lock": %s, "layer4": {"servers": {"s": {"listen": [":7301"],
			"routes": [{"handle": [{"handler": "lock_guard"%s}, {"handler": "lock"}]}]}}}}}`, c.app, c.guard)
		if err := validate([]byte(config)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("validating %s with guard %s\nerror: %v\nwant:  %s", c.app, c.guard, err, c.want)
		}
	}
	if n, exists := hosts.References(nodeName); exists {
		t.Errorf("refused configurations left %d references to the host", n)
	}
}

func TestMaxConnectionsStayBelowTheLimitOfOpenFiles(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	log := zap.New(core)
	const room = 90
	for _, c := range []struct{ configured, want, warnings int }{
		{0, room, 0},
		{50, 50, 0},
		{room, room, 0},
		{1000, room, 1},
	} {
		s, err := (&App{MaxConnections: c.configured}).resolve(room, log)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.options.MaxConnections; got != c.want {
			t.Errorf("max_connections %d with room for %d means %d, want %d", c.configured, room, got, c.want)
		}
		if got := len(logs.TakeAll()); got != c.warnings {
			t.Errorf("max_connections %d with room for %d gives %d warnings, want %d", c.configured, room, got, c.warnings)
		}
	}
}

func TestRoomLeavesAReserve(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{
		1:         1,
		256:       128,
		1024:      512,
		8192:      4096,
		20_000:    15_904,
		1_048_576: 917_504,
	} {
		if got := room(limit); got != want {
			t.Errorf("of %d descriptors connections may take %d, want %d", limit, got, want)
		}
	}
}
