package replication

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/caddylock/caddylock/lockcore"
)

// batch is how many requests a benchmark sends at once.
const batch = 64

// BenchmarkPipelinedPairs measures what the server does for an acquire and a
// release besides moving bytes in and out of the kernel. A pair of the
// end-to-end benchmark with 64 in flight costs this, and the system calls.
func BenchmarkPipelinedPairs(b *testing.B) {
	n := NewNode()
	err := n.Start(context.Background(), Env{Options: DefaultOptions(), Storage: newFakeStorage(), Log: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = n.Shutdown(context.Background()) })
	sock := new(recordingConn)
	c := &Conn{node: n, sock: sock, owner: new(lockcore.Owner)}
	c.out.writing = make(chan struct{}, 1)
	var acquires []byte
	for i := range batch {
		acquires = fmt.Appendf(acquires, "A#%d 30 0 bench/key-%06d\n", i+1, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		handleBatch(b, c, acquires)
		handleBatch(b, c, releasesOf(sock.written))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/pair")
}

// handleBatch carries out requests as Conn.read does.
func handleBatch(b *testing.B, c *Conn, lines []byte) {
	c.sock.(*recordingConn).written = c.sock.(*recordingConn).written[:0]
	if _, open := c.handleLines(c.node.now(), lines); !open {
		b.Fatal("a request was malformed")
	}
	if err := c.flush(); err != nil {
		b.Fatal(err)
	}
}

// releasesOf turns grants into the releases of what was granted, in place: both
// are spelled the same but for their letter.
func releasesOf(grants []byte) []byte {
	for line := range bytes.Lines(grants) {
		line[0] = 'R'
	}
	return bytes.Clone(grants)
}

// recordingConn is a connection that keeps what was written last.
type recordingConn struct {
	net.Conn
	written []byte
}

func (c *recordingConn) Write(b []byte) (int, error) {
	c.written = append(c.written, b...)
	return len(b), nil
}

func (*recordingConn) SetDeadline(time.Time) error { return nil }
