package bench

import (
	"fmt"
	"net"
	"os"
	"testing"
)

const roleEcho = "echo"

// echoedGrant is what an echo has between the op and the key of an acquire: its
// lease and wait.
const echoedGrant = "3600 0"

// echoToken is what lanes release on the echo: of the length of a real token.
var echoToken = []byte("1928545113132236801")

// readEcho is how lanes read the answers of the echo to acquires.
func readEcho(text []byte) (token []byte, ok bool) {
	return echoToken, string(text) == echoedGrant
}

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
