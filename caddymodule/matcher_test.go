package caddymodule

import (
	"errors"
	"net"
	"testing"

	"github.com/mholt/caddy-l4/layer4"
	"go.uber.org/zap"
)

func TestTheMatcherKnowsTheProtocolByItsFirstBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes string
		match bool
		err   error
	}{
		{"", false, layer4.ErrConsumedAllPrefetchedBytes},
		{"A", false, layer4.ErrConsumedAllPrefetchedBytes},
		{"A 30 0 orders/42\n", true, nil},
		{"A#1 30 0 orders/42\n", true, nil},
		{"H 7Qe2mVtKx0Yp4LrWc9sNda 1\n", true, nil},
		{"P\n", true, nil},
		{"PEER", true, nil},
		{"GET / HTTP/1.1\r\n", false, nil},
		{"PUT / HTTP/1.1\r\n", false, nil},
		{"\x16\x03\x01\x02\x00", false, nil},
		{"SSH-2.0-OpenSSH_9.6\r\n", false, nil},
	} {
		near, far := net.Pipe()
		cx := layer4.WrapConnection(near, []byte(c.bytes), zap.NewNop())
		match, err := new(Matcher).Match(cx)
		if match != c.match || !errors.Is(err, c.err) {
			t.Errorf("%q: match %t, %v; want %t, %v", c.bytes, match, err, c.match, c.err)
		}
		if got := string(cx.MatchingBytes()); got != c.bytes {
			t.Errorf("%q: the matcher left %q for others", c.bytes, got)
		}
		_ = near.Close()
		_ = far.Close()
	}
}

func TestAMatchedConnectionIsReadFromItsFirstByte(t *testing.T) {
	addr := freeAddr(t)
	run(t, `{
	admin off
	layer4 {
		`+addr+` {
			@lock lock
			route @lock {
				lock
			}
			route {
				echo
			}
		}
	}
}`)
	s := speak(t, addr)
	for _, piece := range []string{"A#", "7 30 0 or"} {
		if _, err := s.conn.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	s.granted(s.ask("ders/42"), "orders/42")
	speak(t, addr).expect("hello", "hello")
}
