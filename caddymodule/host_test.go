package caddymodule

import (
	"net"
	"testing"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// newApp is an app with default options, outside of Caddy.
func newApp(t *testing.T, h *host) *App {
	t.Helper()
	s, err := new(App).resolve(1000, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	s.storage, s.log = &certmagic.FileStorage{Path: t.TempDir()}, zap.NewNop()
	return &App{host: h, settings: s}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dialHost connects to the host's node without a listener.
func dialHost(t *testing.T, h *host) *speaker {
	t.Helper()
	near, far := net.Pipe()
	go func() {
		_ = h.serve(far)
		_ = far.Close()
	}()
	return speakOver(t, near)
}

// Caddy starts apps in random order, so a listener can be there first.
func TestAConnectionThatCameBeforeTheStartIsServedAfterIt(t *testing.T) {
	freshFolders(t)
	h := newHost()
	s := dialHost(t, h)
	s.expect("A 30 0 k", "E A not-ready k")
	app := newApp(t, h)
	mustDo(t, h.add(app))
	wantLocks(s)
	mustDo(t, h.remove(app))
	s.wantClosed()
}

// A configuration that fails to start leaves a host that nobody refers to. Its
// clients must come back to the next one, not hear not-ready for ever.
func TestAHostThatWasNeverStartedClosesItsConnections(t *testing.T) {
	freshFolders(t)
	h := referHost()
	s := dialHost(t, h)
	s.expect("A 30 0 k", "E A not-ready k")
	releaseHost()
	s.wantClosed()
}

func TestTheNewestStartedAppCounts(t *testing.T) {
	freshFolders(t)
	h := newHost()
	var apps []*App
	for _, most := range []int{1, 2, 3} {
		app := newApp(t, h)
		app.settings.options.MaxKeyBytes = most
		apps = append(apps, app)
	}
	s := dialHost(t, h)
	wantLongest := func(want int) {
		t.Helper()
		key := "keys"[:want]
		s.release(key, s.acquire(key, "30"))
		s.expect("A 30 try "+"keys"[:want+1], "E A bad-key "+"keys"[:want+1])
	}
	for i, app := range apps {
		mustDo(t, h.add(app))
		wantLongest(i + 1)
	}
	mustDo(t, h.remove(apps[1])) // an old one
	wantLongest(3)
	mustDo(t, h.remove(apps[2])) // the newest
	wantLongest(1)
	mustDo(t, h.remove(apps[2])) // again, as Cleanup does
	wantLongest(1)
	mustDo(t, h.remove(apps[0]))
	s.wantClosed()
}

func TestEndingIsForOnce(t *testing.T) {
	freshFolders(t)
	h := newHost()
	old, app := newApp(t, h), newApp(t, h)
	mustDo(t, h.add(old))
	mustDo(t, h.add(app))
	done := make(chan error)
	for range 4 {
		go func() { done <- h.end() }()
	}
	for range 4 {
		mustDo(t, <-done)
	}
	mustDo(t, h.remove(app))
	mustDo(t, h.remove(old))
	file, err := lockNodeFile()
	mustDo(t, err)
	mustDo(t, file.Unlock())
}

func TestTheIdentityIsMadeOnce(t *testing.T) {
	freshFolders(t)
	file, err := lockNodeFile()
	mustDo(t, err)
	first, err := identity()
	mustDo(t, err)
	second, err := identity()
	mustDo(t, err)
	if first != second || !identityForm.MatchString(first) {
		t.Errorf("the identity is %q, and then %q", first, second)
	}
	mustDo(t, file.Unlock())
}
