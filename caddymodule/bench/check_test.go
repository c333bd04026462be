package bench

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/caddylock/caddylock/caddymodule/load"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// What the load generator allocates, its collector would take from the server.
func TestLaneDoesNotAllocate(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			echo(conn)
		}
	}()
	l, err := dialLane(&process{role: roleEcho, addr: listener.Addr().String()}, load.LaneConfig{Slots: 1, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Conn().Close()
	const want = 1000
	allocations := testing.AllocsPerRun(5, func() {
		if err := l.Run(&untilPairs{want: want}); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > want/100 {
		t.Errorf("%d pairs allocated %v times", want, allocations)
	}
}

// untilPairs is pairs that stop by themselves.
type untilPairs struct {
	load.Pairs
	want int64
}

func (p *untilPairs) Next(l *load.Lane, s *load.Slot) error {
	if s.Answered() == wire.OpRelease && l.Units()+1 == p.want {
		p.Stop()
	}
	return p.Pairs.Next(l, s)
}

func TestRawClientRefusesWrongAnswers(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string][]string{
		"no tag":                 {"A 12 key"},
		"another tag":            {"A#2 12 key"},
		"another key":            {"A#1 12 kez"},
		"the wrong op":           {"R#1 12 key"},
		"a timeout":              {"T#1 key"},
		"token 0":                {"A#1 0 key", "R#2 0 key"},
		"another token released": {"A#1 12 key", "R#2 13 key"},
		"release refused":        {"A#1 12 key", "E#2 R not-held key"},
		"the tag before":         {"A#1 12 key", "R#1 12 key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := pairAgainst(t, answers); err == nil || strings.Contains(err.Error(), io.EOF.Error()) {
				t.Errorf("after %q the pair ended with %v; it should have refused the last one", answers, err)
			}
		})
	}
}

func TestRawClientTakesRightAnswers(t *testing.T) {
	t.Parallel()
	if err := pairAgainst(t, []string{"A#1 12 key", "R#2 12 key"}); err != nil {
		t.Error(err)
	}
}

// pairAgainst makes one pair with a server that gives one answer to each line and
// then hangs up.
func pairAgainst(t *testing.T, answers []string) error {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		requests := bufio.NewScanner(theirs)
		for _, answer := range answers {
			if !requests.Scan() {
				return
			}
			io.WriteString(theirs, answer+"\n")
		}
		requests.Scan()
	}()
	c := &rawClient{conns: []*rawConn{startRawConn(t, ours)}}
	return c.pair(t.Context(), "key")
}
