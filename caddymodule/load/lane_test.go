package load

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

const key, other = "000/00000000/000", "000/00000000/001"

// A load generator that counts wrong replies as done would praise a broken server.
func TestLaneRefusesWrongReplies(t *testing.T) {
	t.Parallel()
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
		"a tag that was not sent":   {"A#1 12 " + key},
		"an echo":                   {"A 3600 0 " + key},
		"an empty line":             {""},
		"a short line":              {"A"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := runAgainst(t, replies, &Pairs{}); err == nil || strings.Contains(err.Error(), io.EOF.Error()) {
				t.Errorf("after %q the lane went on, or ended with %v; it should have refused the last one", replies, err)
			}
		})
	}
}

func TestLaneTakesRightReplies(t *testing.T) {
	t.Parallel()
	err := runAgainst(t, []string{"A 9 " + key, "R 9 " + key, "A 12 " + key, "R 12 " + key}, &untilPairs{want: 2})
	if err != nil {
		t.Error(err)
	}
}

func TestContestRefusesTwoHolders(t *testing.T) {
	t.Parallel()
	var c Contest
	c.held.Store(true)
	err := runAgainst(t, []string{"A 12 " + key}, c.NewContender())
	if err == nil || !strings.Contains(err.Error(), "held it") {
		t.Errorf("the lane ended with %v", err)
	}
}

func TestContestRefusesATokenBelowThatOfAnotherLane(t *testing.T) {
	t.Parallel()
	var c Contest
	c.Stop()
	if err := runAgainst(t, []string{"A 12 " + key, "R 12 " + key}, c.NewContender()); err != nil {
		t.Fatal(err)
	}
	err := runAgainst(t, []string{"A 11 " + key}, c.NewContender())
	if err == nil || !strings.Contains(err.Error(), "after token 12") {
		t.Errorf("the lane ended with %v", err)
	}
}

func TestNewLaneRefusesWhatHasNoKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []LaneConfig{
		{Number: -1, Slots: 1}, {Number: MaxLanes, Slots: 1}, {Slots: 0}, {Slots: MaxSlots + 1},
	} {
		if _, err := NewLane(nil, c); err == nil {
			t.Errorf("a lane was made of %+v", c)
		}
	}
}

func TestKeysDifferByLaneRoundAndSlot(t *testing.T) {
	t.Parallel()
	const want = "bench/x/042/00001234/999"
	key := newKey("bench/x/", 42, 999)
	setRound(key, 1234)
	if string(key) != want || slotOfKey(key) != 999 {
		t.Errorf("the key is %q of slot %d, want %q", key, slotOfKey(key), want)
	}
}

// untilPairs is pairs that stop by themselves.
type untilPairs struct {
	Pairs
	want int64
}

func (p *untilPairs) Next(l *Lane, s *Slot) error {
	if s.Answered() == wire.OpRelease && l.Units()+1 == p.want {
		p.Stop()
	}
	return p.Pairs.Next(l, s)
}

// runAgainst runs a plan on a lane of one slot whose other end gives one reply
// to each line and then hangs up.
func runAgainst(t *testing.T, replies []string, p Plan) error {
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
	l, err := NewLane(ours, LaneConfig{Slots: 1, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return l.Run(p)
}
