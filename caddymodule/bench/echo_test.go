package bench

import (
	"fmt"
	"net"
	"os"
	"testing"
)

const roleEcho = "echo"

// echoBuffer is how much the echo server reads at once: all that a lane sends.
const echoBuffer = 64 << 10

// serveEcho writes back what it reads: the least that any server in Go does for
// a line.
func serveEcho() {
	listener, err := net.Listen("tcp", os.Getenv(addressVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, "listening:", err)
		os.Exit(1)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "accepting:", err)
			os.Exit(1)
		}
		go echo(conn)
	}
}

func echo(conn net.Conn) {
	defer conn.Close()
	buf := make([]byte, echoBuffer)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return
		}
	}
}

func startEcho(b *testing.B) *process {
	b.Helper()
	return startProcess(b, roleEcho, freeAddress(b))
}
