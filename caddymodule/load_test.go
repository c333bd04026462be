package caddymodule

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// contend acquires and releases a key that others want too, over one connection,
// until the test says so. The tokens it gets must grow.
func contend(conn net.Conn, key string, until <-chan struct{}) error {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	ask := func(format string, args ...any) (string, error) {
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := fmt.Fprintf(conn, format+"\n", args...); err != nil {
			return "", err
		}
		return in.ReadString('\n')
	}
	for last := uint64(0); !isClosed(until); {
		var token uint64
		reply, err := ask("A 60 0 %s", key)
		if _, errs := fmt.Sscanf(reply, "A %d ", &token); err != nil || errs != nil || token <= last {
			return fmt.Errorf("acquiring after token %d: %q, %w", last, reply, errors.Join(err, errs))
		}
		last = token
		if reply, err := ask("R %d %s", token, key); err != nil || !strings.HasPrefix(reply, "R ") {
			return fmt.Errorf("releasing: %q, %w", reply, err)
		}
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// comeAndStay opens connections, which stay once they were answered. While a
// listener closes, a connection may be lost before that.
func comeAndStay(addr string, until <-chan struct{}) []net.Conn {
	const most = 200
	var stayed []net.Conn
	for len(stayed) < most && !isClosed(until) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			continue
		}
		if ping(conn) != nil {
			_ = conn.Close()
			continue
		}
		stayed = append(stayed, conn)
	}
	return stayed
}

// reloadUnderLoad reloads many times while clients work, and wants nothing to be
// lost.
func reloadUnderLoad(t *testing.T, addr string, times int) {
	holder, waiter := speak(t, addr), speak(t, addr)
	token := holder.acquire("held", "3600")
	waiter.say("A 3600 0 held")

	done := make(chan struct{})
	var working sync.WaitGroup
	for range 3 {
		worker := speak(t, addr)
		worker.expect("P", "P")
		working.Go(func() {
			if err := contend(worker.conn, "busy", done); err != nil {
				t.Error(err)
			}
		})
	}
	var stayed []net.Conn
	working.Go(func() { stayed = comeAndStay(addr, done) })
	for i := range times {
		mustLoad(t, plain(addr, fmt.Sprintf("max_keys %d", 1000+i)))
	}
	close(done)
	working.Wait()

	for _, conn := range stayed {
		if err := ping(conn); err != nil {
			t.Errorf("a connection that was answered is lost: %v", err)
		}
	}
	holder.wantHeld("held", token)
	holder.release("held", token)
	waiter.granted(waiter.hear(), "held")
	t.Logf("%d connections came and stayed", len(stayed))
	closeAll(append(stayed, holder.conn, waiter.conn))
}

func TestReloadsUnderLoadLoseNothing(t *testing.T) {
	addr := freeAddr(t)
	run(t, plain(addr, ""))
	times := 100
	if testing.Short() {
		times = 20
	}
	reloadUnderLoad(t, addr, times)
}

func TestReloadsUnderLoadLoseNothingOnAUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "lock") // a name short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	addr := dir + "/lock.sock"
	run(t, plain("unix/"+addr, ""))
	speak(t, addr).expect("P", "P")
	for range 20 {
		mustLoad(t, plain("unix/"+addr, ""))
		speak(t, addr).expect("P", "P")
	}
}

func TestReloadsLeaveNothingBehind(t *testing.T) {
	addr := freeAddr(t)
	freshFolders(t)
	mustLoad(t, plain(addr, "")) // what Caddy starts once for the whole process
	stop(t)
	before := goleak.IgnoreCurrent()
	descriptors := openDescriptors()

	mustLoad(t, plain(addr, ""))
	reloadUnderLoad(t, addr, 100)
	stop(t)

	goleak.VerifyNone(t, before)
	if n, exists := hosts.References(nodeName); exists {
		t.Errorf("%d references to the host are left", n)
	}
	eventually(t, func() error {
		if open := gateOpen(); open != 0 {
			return fmt.Errorf("%d slots of the gate are taken by nobody", open)
		}
		if now := openDescriptors(); now > descriptors {
			return fmt.Errorf("%d files are open, there were %d", now, descriptors)
		}
		return nil
	})
}

func gateOpen() int {
	connections.mu.Lock()
	defer connections.mu.Unlock()
	return connections.open
}

// openDescriptors is how many files this process has open; 0 where that cannot
// be known.
func openDescriptors() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(files)
}
