package replication

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dialTCP connects to a node that listens on the loopback.
func dialTCP(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	sock, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = sock.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = sock.Close() })
	return sock.(*net.TCPConn)
}

func TestASessionWhoseClientHalfClosesOverTCPIsAnsweredToItsEnd(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	sock := dialTCP(t, h.listen())
	if _, err := io.WriteString(sock, "A 30 0 k\nA 30 try k\nP\n"); err != nil {
		t.Fatal(err)
	}
	_ = sock.CloseWrite()
	got, err := io.ReadAll(sock)
	if lines := strings.Split(string(got), "\n"); err != nil || len(lines) != 4 || lines[1] != "T k" || lines[2] != "P" {
		t.Errorf("got %q, error %v", got, err)
	}
}

// TestTheLastWordReachesAClientThatIsStillSending: a socket closed with unread
// bytes is reset, and a reset takes away what the client has not read yet.
func TestTheLastWordReachesAClientThatIsStillSending(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	addr := h.listen()
	for range 20 {
		sock := dialTCP(t, addr)
		if _, err := sock.Write(append([]byte("P\nnonsense\n"), bytes.Repeat([]byte("A 30 0 k\n"), 1<<15)...)); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(sock)
		if !bytes.HasPrefix(got, []byte("P\nE malformed ")) || err != nil {
			t.Fatalf("got %q, error %v", got, err)
		}
	}
	if !h.isEmpty() {
		t.Error("something after the malformed line was done")
	}
}

func TestAClientOverTCPThatNeverReadsIsCutAndSlowsNobody(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.options.ClientTimeout = time.Second
	h.start()
	addr := h.listen()
	flooding, other := dialTCP(t, addr), newPhone(t, dialTCP(t, addr))
	_ = flooding.SetReadBuffer(1 << 12)
	cut := make(chan error)
	go func() { cut <- flood(flooding) }()
	for {
		select {
		case err := <-cut:
			if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Errorf("the flood ended with %v", err)
			}
			return
		default:
		}
		asked := time.Now()
		other.expect("P", "P")
		if took := time.Since(asked); took > time.Second {
			t.Errorf("a ping took %s beside a client that does not read", took)
		}
	}
}

// flood sends requests until that fails.
func flood(sock net.Conn) error {
	requests := bytes.Repeat([]byte("Q "+strings.Repeat("k", 1000)+"\n"), 64)
	for {
		if _, err := sock.Write(requests); err != nil {
			return err
		}
	}
}

func TestAConnectionThatIsResetLeavesNoWaiter(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	addr := h.listen()
	holder, waiter := newPhone(t, dialTCP(t, addr)), dialTCP(t, addr)
	holder.acquire("30", "k")
	if _, err := io.WriteString(waiter, "A 30 0 k\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the acquire waits", func() bool { _, waiting := h.count(); return waiting == 1 })
	_ = waiter.SetLinger(0)
	_ = waiter.Close()
	eventually(t, "the waiter has ended", func() bool { _, waiting := h.count(); return waiting == 0 })
	h.check()
}
