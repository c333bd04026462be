package caddymodule

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

func TestLayer4AloneIsACompleteConfiguration(t *testing.T) {
	addr := freeAddr(t)
	run(t, `{
	admin off
	layer4 {
		`+addr+` {
			route {
				lock
			}
		}
	}
}`)
	wantLocks(speak(t, addr))
}

func TestAllListenersServeTheSameLocks(t *testing.T) {
	first, second := freeAddr(t), freeAddr(t)
	run(t, `{
	admin off
	layer4 {
		`+first+` {
			route {
				lock
			}
		}
		`+second+` {
			route {
				lock
			}
		}
	}
}`)
	a, b := speak(t, first), speak(t, second)
	token := a.acquire("k", "60")
	b.wantHeld("k", token)
	b.release("k", token)
	a.wantHeld("k", 0)
}

func TestReloadedOptionsCountForOpenConnections(t *testing.T) {
	addr := freeAddr(t)
	run(t, plain(addr, "max_lease 1h"))
	s := speak(t, addr)
	s.acquire("before", "3600")
	mustLoad(t, plain(addr, "max_lease 1m"))
	s.expect("A 3600 0 after", "E A bad-lease after")
	mustLoad(t, plain(addr, "max_lease 1h\nmax_key_bytes 3"))
	s.expect("A 3600 0 long", "E A bad-key long")
	s.acquire("key", "3600")
}

// lockApp is the JSON of a configuration without listeners.
func lockApp(options string, more ...string) string {
	apps := append([]string{fmt.Sprintf(`"lock": {%s}`, options)}, more...)
	return fmt.Sprintf(`{"admin": {"disabled": true}, "apps": {%s}}`, strings.Join(apps, ","))
}

// Caddy starts apps in random order, so that the lock app was started before the
// other one fails, or was not. This many times it is once this and once that.
const randomOrders = 12

func TestAConfigurationThatFailsChangesNothing(t *testing.T) {
	for _, in := range []string{"provision", "start"} {
		t.Run(in, func(t *testing.T) {
			addr := freeAddr(t)
			run(t, plain(addr, "max_lease 1h"))
			s, waiter := speak(t, addr), speak(t, addr)
			token := s.acquire("k", "3600")
			waiter.say("A 3600 0 k")
			for range randomOrders {
				err := caddy.Load([]byte(lockApp(`"max_lease": "1m"`, failing(in))), true)
				if err == nil || !strings.Contains(err.Error(), errFailing.Error()) {
					t.Fatalf("loading the failing configuration: %v", err)
				}
				free := s.acquire("free", "3600")
				s.release("free", free)
			}
			s.release("k", token)
			waiter.granted(waiter.hear(), "k")
			if n, _ := hosts.References(nodeName); n != 1 {
				t.Errorf("there are %d references to the host, want one", n)
			}
		})
	}
}

// Caddy then cleans up apps that it started and did not stop.
func TestAConfigurationThatFailsAfterAllItsAppsStartedChangesNothing(t *testing.T) {
	addr := freeAddr(t)
	run(t, plain(addr, "max_lease 1h"))
	s := speak(t, addr)
	config := strings.Replace(lockApp(`"max_lease": "1m"`), `"disabled": true`,
		`"disabled": true, "config": {"load": {"module": "http", "url": "http://`+freeAddr(t)+`/"}}`, 1)
	if err := caddy.Load([]byte(config), true); err == nil {
		t.Fatal("the configuration does not fail")
	}
	s.acquire("k", "3600")
	if n, _ := hosts.References(nodeName); n != 1 {
		t.Errorf("there are %d references to the host, want one", n)
	}
}

func TestAnAppThatFailsToStartLeavesNothing(t *testing.T) {
	freshFolders(t)
	h := newHost()
	app := &App{host: h} // no options: the node refuses to start
	if err := h.add(app); err == nil {
		t.Fatal("the node started without options")
	}
	if err := h.remove(app); err != nil {
		t.Fatal(err)
	}
	file, err := lockNodeFile()
	if err != nil {
		t.Fatalf("the file is still held: %v", err)
	}
	if err := file.Unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedIdentityIsNamed(t *testing.T) {
	freshFolders(t)
	path := nodeFile(".id")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err := load(plain(freeAddr(t), ""))
	t.Cleanup(func() { stop(t) })
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("loading with a damaged identity: %v, want an error that names %s", err, path)
	}
}

const nothing = "{\n\tadmin off\n}"

func TestLocksSurviveTheRemovalOfTheApp(t *testing.T) {
	addr := freeAddr(t)
	config := plain(addr, "")
	run(t, config)
	s := speak(t, addr)
	token := s.acquire("k", "3600")
	for range 4 {
		mustLoad(t, nothing)
		s.wantClosed()
		if n, exists := hosts.References(nodeName); exists {
			t.Fatalf("without the app there are %d references to the host", n)
		}
		mustLoad(t, config)
		s = speak(t, addr)
		s.wantHeld("k", token)
	}
	s.release("k", token)
}

// A configuration that is being validated refers to the host without starting it.
func TestTheNodeStartsAgainInAHostThatWasReferredToMeanwhile(t *testing.T) {
	addr := freeAddr(t)
	config := plain(addr, "")
	run(t, config)
	token := speak(t, addr).acquire("k", "3600")
	referHost()
	defer releaseHost()
	for range 3 {
		mustLoad(t, nothing)
		mustLoad(t, config)
		speak(t, addr).wantHeld("k", token)
	}
}

func TestLocksSurviveAStopAfterTheStorageWasChanged(t *testing.T) {
	addr := freeAddr(t)
	run(t, plain(addr, "", "storage file_system "+t.TempDir()))
	s := speak(t, addr)
	token := s.acquire("k", "3600")
	other := plain(addr, "", "storage file_system "+t.TempDir())
	mustLoad(t, other)
	s.wantHeld("k", token)
	stop(t)
	mustLoad(t, other)
	s = speak(t, addr)
	s.wantHeld("k", token)
}

func TestConnectionsBeyondTheMostAreToldSo(t *testing.T) {
	addr := freeAddr(t)
	run(t, plain(addr, "max_connections 1"))
	first := speak(t, addr)
	first.expect("P", "P")
	second := speak(t, addr)
	if got := second.hear(); !strings.HasPrefix(got, "E malformed too many connections") {
		t.Errorf("the second connection got %q", got)
	}
	second.wantClosed()
	mustLoad(t, plain(addr, "max_connections 2"))
	speak(t, addr).expect("P", "P")
	first.expect("P", "P")
}
