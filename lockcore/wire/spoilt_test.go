package wire

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// likeTwin checks that a line is read as the twin reads it.
func likeTwin(t *testing.T, line string) {
	t.Helper()
	if problem := compareWithTwin(line); problem != "" {
		t.Error(problem)
	}
}

func TestEveryRequestOneByteOffIsReadAsTheTwinReadsIt(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		for i := range len(c.line) {
			for _, piece := range []string{"", " ", "\r", "\n", "0", "9", ".", "#", "\x00", "A"} {
				for _, line := range []string{c.line[:i] + piece, c.line[:i] + piece + c.line[i:], c.line[:i] + piece + c.line[i+1:]} {
					likeTwin(t, line)
				}
			}
		}
	}
}

// Otherwise comparing with the twin would prove less than it seems to.
func TestSpoiltRequestsMeetEveryOutcome(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		r := dice(seed)
		line := spoil(r, strings.TrimSuffix(request(anyRequest(r)), "\n"))
		var q Request
		switch err := ParseRequest([]byte(line), &q).(type) {
		case nil:
			seen["accepted"]++
		default:
			seen[err.Error()]++
		}
	}
	for _, outcome := range []string{
		"accepted", CodeBadKey.Error(), CodeBadLease.Error(), CodeBadWait.Error(), wantOp.Error(), wantTag.Error(), wantAcquire.Error(),
		wantRelease.Error(), wantKeep.Error(), wantCancel.Error(), wantQuery.Error(), wantHello.Error(), wantGiveUp.Error(), wantPing.Error(),
	} {
		if seen[outcome] == 0 {
			t.Errorf("no line was %s", outcome)
		}
	}
}

// anyBadKey deals what a refusal may have to repeat: of any bytes but LF.
func anyBadKey(r *rand.Rand) []byte {
	key := make([]byte, r.IntN(anyOf(r, 2, 20, maxRefusedKey+1)))
	for i := range key {
		if key[i] = anyOf(r, byte(r.Uint32()), ' ', '\r', 0); key[i] == '\n' {
			key[i] = '\r'
		}
	}
	return key
}

func TestARefusalOfABadKeyIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		r := dice(seed)
		q := anyRequest(r)
		if q.Op.hasKey() {
			q.Key = anyBadKey(r)
		}
		want := refusal(&q, anyOf(r, codes[:]...))
		line := reply(want)
		if got := mustReadReply(t, strings.TrimSuffix(line, "\n")); !equal(got, want) || len(line) > MaxLine {
			t.Fatalf("seed %d: %d bytes: %q read as%s", seed, len(line), clip(line), show(got))
		}
	}
}

func TestAMalformedTextIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "  two  words  ", "A taken k", "malformed", "\r", "x\r", "x\r\r", "\x00\xff"} {
		want := Reply{Kind: KindError, Text: []byte(text)}
		line := reply(want)
		if got := mustReadReply(t, strings.TrimSuffix(line, "\n")); !equal(got, want) {
			t.Errorf("%q read as%s", line, show(got))
		}
	}
}

// A client that a - puzzles would take it for a key.
func TestAReplyAboutNoKeyHasADash(t *testing.T) {
	t.Parallel()
	for _, op := range []Op{OpHello, OpGiveUp, OpPing} {
		for _, code := range codes {
			expectLine(t, reply(Reply{Kind: KindError, Op: op, Code: code, Target: 7}), "E "+string(op)+" "+string(code)+" -\n")
			expectLine(t, reply(Reply{Kind: KindError, Tag: 3, Op: op, Code: code, Key: []byte("k")}), "E#3 "+string(op)+" "+string(code)+" -\n")
		}
		expectLine(t, reply(Reply{Kind: KindMoved, Tag: 3, Op: op, Addr: []byte("a:1")}), "M#3 a:1 "+string(op)+" -\n")
	}
}
