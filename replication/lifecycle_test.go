package replication

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestANodeIsStartedOnce(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	if err := h.node.Start(context.Background(), h.env()); !errors.Is(err, ErrStarted) {
		t.Errorf("the second start: %v, want ErrStarted", err)
	}
	p := h.phone()
	p.expect("P", "P")
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if err := h.node.Start(context.Background(), h.env()); err == nil {
		t.Error("a node that was shut down can be started")
	}
}

func TestANodeDoesNotStartWithBadOptions(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	env := h.env()
	env.Options.MaxKeys = 0
	if err := h.node.Start(context.Background(), env); err == nil || !strings.Contains(err.Error(), "max_keys") {
		t.Errorf("the start: %v, want one that names max_keys", err)
	}
	h.start()
}

func TestShuttingDownTwiceIsTheSameAsOnce(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	h.phone().acquire("30", "k")
	for range 2 {
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
	}
	h.start()
	if held, _ := h.count(); held != 1 {
		t.Errorf("%d locks are held after the restart, want 1", held)
	}
}

func TestShuttingDownWithoutAStartStoresNothing(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	p := h.phone()
	p.expect("A 30 0 k", "E A not-ready k")
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if h.storage.has("state") || h.storage.has("generation") {
		t.Error("a node that never served stored something")
	}
}

func TestServeAfterTheShutdownTurnsTheClientAway(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	client, server := newPipe()
	served := make(chan error)
	go func() { served <- h.node.Serve(server) }()
	p := newPhone(t, client)
	if got := p.hear(); got != "E malformed the lock node has been shut down; try again later" {
		t.Errorf("the client reads %q", got)
	}
	p.hangUp()
	if err := <-served; !errors.Is(err, ErrStopped) {
		t.Errorf("Serve returned %v, want ErrStopped", err)
	}
}

func TestServeReturnsAtOnceWhenThereAreTooManyConnections(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.options.MaxConnections = 1
	h.start()
	h.phone().expect("P", "P")
	client, server := newPipe()
	served := make(chan error)
	go func() { served <- h.node.Serve(server) }()
	if got := newPhone(t, client).hear(); got != "E malformed too many connections; try again later" {
		t.Errorf("the client reads %q", got)
	}
	if err := <-served; !errors.Is(err, ErrTooManyConnections) {
		t.Errorf("Serve returned %v, want ErrTooManyConnections", err)
	}
}

// TestAShutdownAmidRequestsKeepsEveryLock lets many clients acquire while the
// node stops: what was granted by a reply is held after the next start, and
// nothing else is.
func TestAShutdownAmidRequestsKeepsEveryLock(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	const clients = 16
	var working sync.WaitGroup
	granted := make([]map[string]string, clients)
	for i := range clients {
		c := h.phone()
		granted[i] = make(map[string]string)
		working.Go(func() { acquireUntilCut(c, string(rune('a'+i)), granted[i]) })
	}
	eventually(t, "clients are at work", func() bool { held, _ := h.count(); return held > 10*clients })
	var stopping sync.WaitGroup
	for range 3 {
		stopping.Go(func() { _ = h.node.Shutdown(context.Background()) })
	}
	stopping.Wait()
	working.Wait()
	h.start()
	compareHeld(t, h, granted)
}

// acquireUntilCut acquires keys of its own until the node refuses or is gone.
func acquireUntilCut(c *phone, name string, granted map[string]string) {
	for key := name; ; key += name {
		if len(key) > 1000 {
			name, key = key[:1]+name, key[:1]+name
		}
		if _, err := c.sock.Write([]byte("A 600 try " + key + "\n")); err != nil {
			return
		}
		line, err := c.lines.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "A ") {
			return
		}
		granted[key] = strings.Fields(line)[1]
	}
}

func compareHeld(t *testing.T, h *host, granted []map[string]string) {
	p, want := h.phone(), 0
	for _, of := range granted {
		want += len(of)
		for key, token := range of {
			if got := strings.Fields(p.ask("Q " + key))[1]; got != token {
				t.Errorf("%s was granted under %s, and is held under %s", key, token, got)
			}
		}
	}
	if held, _ := h.count(); held < want || held > want+len(granted) {
		t.Errorf("%d locks are held, %d were granted by a reply", held, want)
	}
}

// TestAShutdownEndsWithItsContext has clients of the worst kind: one that never
// reads, and one that never closes.
func TestAShutdownEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		stuck := h.dial()
		stuck.stopReading()
		stuck.send("P\n")
		stays, server := newPipe()
		h.serve(server)
		synctest.Wait()

		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		start := time.Now()
		if err := h.node.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the shutdown took %s, its context 2s", took)
		}
		_ = stays.Close()
	})
}

func TestAShutdownWhoseContextIsOverCutsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		client, server := newPipe()
		h.serve(server)
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		start := time.Now()
		_ = h.node.Shutdown(ctx)
		if took := time.Since(start); took > 0 {
			t.Errorf("the shutdown took %s, its context was over", took)
		}
		_ = client.Close()
	})
}

// TestAConnectionThatIsNeverClosedIsGivenBackInTime: the last words to a client
// must not hold a connection for long.
func TestAConnectionThatIsNeverClosedIsGivenBackInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		client, server := newPipe()
		h.serve(server)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = client.Write([]byte("nonsense\n"))
		}()
		buf := make([]byte, 1<<10)
		if _, err := client.Read(buf); err != nil {
			t.Fatal(err)
		}
		<-sent
		start := time.Now()
		h.served.Wait()
		if took := time.Since(start); took > drainTime {
			t.Errorf("the connection was held for %s after its last word", took)
		}
		_ = client.Close()
	})
}

func TestAConnectionThatCannotBeHalfClosedEndsWithItsLastWord(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	client, server := net.Pipe()
	served := make(chan error)
	go func() { served <- h.node.Serve(server) }()
	p := newPhone(t, client)
	if got := p.ask("nonsense"); !strings.HasPrefix(got, "E malformed ") {
		t.Errorf("the client reads %q", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
