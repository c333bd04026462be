package client_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
)

// TestMain has a server for the examples, in LOCK_ADDR, so that they read as a
// program does.
func TestMain(m *testing.M) {
	sock, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "listening for the examples:", err)
		os.Exit(1)
	}
	addr := sock.Addr().String()
	if err := os.Setenv("LOCK_ADDR", addr); err != nil {
		fmt.Fprintln(os.Stderr, "telling the examples where the server is:", err)
		os.Exit(1)
	}
	go serveLoopback(sock, newCluster(breachPrinter{}, newFakeNet(), addr))
	os.Exit(m.Run())
}

// serveLoopback has a cluster's one node serve what comes over TCP.
func serveLoopback(l net.Listener, c *cluster) {
	addr := l.Addr().String()
	for {
		sock, err := l.Accept()
		if err != nil {
			return
		}
		go bridge(sock, c.net.newLink(addr), c.nodes[addr].serve)
	}
}

// bridge joins a connection to one in memory, until either ends.
func bridge(sock net.Conn, l *link, serve func(*link)) {
	go serve(l)
	go func() {
		_, _ = io.Copy(l.client, sock)
		_ = l.client.Close()
	}()
	_, _ = io.Copy(sock, l.client)
	_ = sock.Close()
}

// breachPrinter prints what a history complains of where an example's output is
// compared: the example fails.
type breachPrinter struct{ testing.TB }

func (breachPrinter) Helper() {}

func (breachPrinter) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
