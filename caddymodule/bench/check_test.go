package bench

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
)

// A benchmark that counts wrong replies as done would praise a broken server.
func TestLaneRefusesWrongReplies(t *testing.T) {
	t.Parallel()
	const key, other = "000/00000000/000", "000/00000000/001"
	for name, replies := range map[string][]string{
		"an error":                  {"E A too-many-keys " + key},
		"a timeout":                 {"T " + key},
		"no token":                  {"A  " + key},
		"a token that is no number": {"A 12a " + key},
		"token 0":                   {"A 0 " + key},
		"another key":               {"A 12 " + other},
		"the wrong op":              {"R 12 " + key},
		"another token released":    {"A 12 " + key, "R 13 " + key},
		"the same token again":      {"A 12 " + key, "R 12 " + key, "A 12 " + key},
		"a smaller token":           {"A 12 " + key, "R 12 " + key, "A 9 " + key},
		"an echo":                   {"A 3600 0 " + key},
		"an empty line":             {""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := runAgainst(t, replies, &pairs{}); err == nil || strings.Contains(err.Error(), io.EOF.Error()) {
				t.Errorf("after %q the lane went on, or ended with %v; it should have refused the last one", replies, err)
			}
		})
	}
}

func TestLaneTakesRightReplies(t *testing.T) {
	t.Parallel()
	const key = "000/00000000/000"
	err := runAgainst(t, []string{"A 9 " + key, "R 9 " + key, "A 12 " + key, "R 12 " + key}, &untilPairs{want: 2})
	if err != nil {
		t.Error(err)
	}
}

func TestContendRefusesTwoHolders(t *testing.T) {
	t.Parallel()
	p := contend{contest: &contest{}}
	p.held.Store(true)
	if err := runAgainst(t, []string{"A 12 000/00000000/000"}, &p); err == nil {
		t.Error("a second holder was not noticed")
	}
}

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
	l, err := dialLane(&process{role: roleEcho, addr: listener.Addr().String()}, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.sock.Close()
	p := untilPairs{want: 1000}
	allocations := testing.AllocsPerRun(5, func() {
		if err := l.run(&p); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > float64(p.want)/100 {
		t.Errorf("%d pairs allocated %v times", p.want, allocations)
	}
}

// untilPairs is pairs that stop by themselves.
type untilPairs struct {
	pairs
	want int
}

func (p *untilPairs) next(l *lane, s *slot) error {
	p.stop.Store(s.answered == release && l.units+1 == p.want)
	return p.pairs.next(l, s)
}

// runAgainst runs a plan on a lane of one slot whose other end gives one reply
// to each line and then hangs up.
func runAgainst(t *testing.T, replies []string, p plan) error {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close() })
	go func() {
		defer theirs.Close()
		requests := bufio.NewScanner(theirs)
		for _, reply := range replies {
			if !requests.Scan() {
				return
			}
			io.WriteString(theirs, reply+"\n")
		}
		requests.Scan()
	}()
	return newLane(ours, 0, 1).run(p)
}
