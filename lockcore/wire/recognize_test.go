package wire

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// opinion is what Recognize says, in a word.
func opinion(prefix string) string {
	match, certain := Recognize([]byte(prefix))
	switch {
	case certain && match:
		return "yes"
	case certain:
		return "no"
	case match:
		return "match without certainty"
	default:
		return "unsure"
	}
}

// expectCertainAt checks that a verdict falls with the nth byte and stays.
func expectCertainAt(t *testing.T, bytes string, n int, want string) {
	t.Helper()
	for i := range len(bytes) + 1 {
		wanted := want
		if i < n {
			wanted = "unsure"
		}
		if got := opinion(bytes[:i]); got != wanted {
			t.Errorf("%q: %s, want %s", bytes[:i], got, wanted)
		}
	}
}

func TestARequestIsRecognizedAtItsFirstTellingByte(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		n    int
	}{
		{"H 7Qe2mVtKx0Yp4LrWc9sNda 1\n", 3}, {"H#1 .Qe2mVtKx0Yp4LrWc9sNda 1\n", 5}, {"H -Qe2mVtKx0Yp4LrWc9sNda 1\n", 3},
		{"X 1\n", 3}, {"X#12 17\n", 6}, {"A 30 0 orders/42\n", 3}, {"A 0.25 try k\r\n", 3}, {"A#17 30 5 orders/42\n", 6},
		{"R 17 k\n", 3}, {"R#3 0 k\n", 5}, {"K 17 30 k\n", 3}, {"K#4 0 1 k\n", 5}, {"C 17 k\n", 3}, {"C#5 17 k\n", 5},
		{"Q k\n", 2}, {"Q#6 k\n", 4}, {"Q  \n", 2}, {"Q HTTP/1.1\n", 2}, {"P\n", 2}, {"P\r\n", 3}, {"P#7\n", 4}, {"P#7\r\nA", 5},
		{"A#" + maxUint + " 30 0 k\n", 24}, {"P#" + maxUint + "\n", 23}, {"P#" + maxUint + "\r\n", 24}, {"PEER\x00\x01", 4}, {"PEER", 4},
	} {
		expectCertainAt(t, c.line, c.n, "yes")
	}
}

func TestOtherProtocolsAreTurnedAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes string
		n     int
	}{
		{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 1}, {"\x16\x03\x03", 1}, {"\x80\x2e\x01", 1},
		{"GET / HTTP/1.1\r\n", 1}, {"PUT / HTTP/1.1\r\n", 2}, {"POST / HTTP/1.1\r\n", 2}, {"PATCH / HTTP/1.1\r\n", 2},
		{"HEAD / HTTP/1.1\r\n", 2}, {"CONNECT example.org:443 HTTP/1.1\r\n", 2}, {"QUERY / HTTP/1.1\r\n", 2},
		{"DELETE / HTTP/1.1\r\n", 1}, {"OPTIONS * HTTP/1.1\r\n", 1}, {"TRACE / HTTP/1.1\r\n", 1},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 2}, {"PROPFIND / HTTP/1.1\r\n", 2}, {"PROPPATCH / HTTP/1.1\r\n", 2}, {"REPORT / HTTP/1.1\r\n", 2},
		{"COPY / HTTP/1.1\r\n", 2}, {"ACL / HTTP/1.1\r\n", 2}, {"PURGE / HTTP/1.1\r\n", 2}, {"PEEK / HTTP/1.1\r\n", 4}, {"PEE ", 4},
		{"SSH-2.0-OpenSSH_9.9\r\n", 1}, {"EHLO mail.example.org\r\n", 1}, {"HELO mail.example.org\r\n", 2}, {"HELP\r\n", 2},
		{"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n", 2}, {"\r\n\r\n\x00\r\nQUIT\n", 1}, {"PING\r\n", 2}, {"*1\r\n$4\r\nPING\r\n", 1}, {"RTSP/1.0", 2},
		{"REGISTER sip:example.org SIP/2.0\r\n", 2}, {"CAP LS 302\r\n", 2}, {"PASS secret\r\n", 2}, {"QUIT\r\n", 2}, {"A001 LOGIN a b\r\n", 2},
		{"A LOGIN a b\r\n", 3}, {"C LOGIN\r\n", 3}, {"\x00\x00\x00\x08\x04\xd2\x16\x2f", 1}, {"\x03\x00\x00\x13", 1}, {"\x10\x10\x00\x04MQTT", 1},
	} {
		expectCertainAt(t, c.bytes, c.n, "no")
	}
}

func TestWhatCannotBecomeARequestIsTurnedAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes string
		n     int
	}{
		{" P\n", 1}, {"a 30 0 k\n", 1}, {"T k\n", 1}, {"M a:1 A k\n", 1}, {"E A taken k\n", 1}, {"\n", 1}, {"\x00", 1}, {"\xff", 1},
		{"AA 30", 2}, {"A\t30", 2}, {"A\n", 2}, {"A30", 2}, {"Q\n", 2}, {"X\r\n", 2}, {"P ", 2}, {"P x\n", 2}, {"P\rx", 3}, {"P\r\r\n", 3}, {"PA", 2},
		{"A  30", 3}, {"A -1", 3}, {"A .5", 3}, {"A try", 3}, {"A \n", 3}, {"R k\n", 3}, {"K\u00a0", 2}, {"C#1\n", 4}, {"X \n", 3},
		{"H \n", 3}, {"H  ", 3}, {"H /", 3}, {"H @", 3}, {"H#1\n", 4},
		{"A#0 ", 3}, {"A#01", 3}, {"A# ", 3}, {"A#x", 3}, {"A#\n", 3}, {"A##", 3}, {"A#1x", 4}, {"A#1#", 4}, {"A#1  ", 5}, {"P#1 ", 4}, {"P#1\r ", 5}, {"P#\n", 3},
		{"A#" + strings.Repeat("1", 40), 23}, {"AEER", 2}, {"REER", 2}, {"PEAR", 3}, {"PEEP", 4},
	} {
		expectCertainAt(t, c.bytes, c.n, "no")
	}
}

func TestTooLittleIsUnsure(t *testing.T) {
	t.Parallel()
	prefixes := []string{"", "PE", "PEE", "P\r", "P#1\r", "A#", "A#1", "A#" + maxUint, "A ", "A#1 ", "H ", "H#12 "}
	for _, op := range "HXARKCQP" {
		prefixes = append(prefixes, string(op))
	}
	for _, prefix := range prefixes {
		if got := opinion(prefix); got != "unsure" {
			t.Errorf("%q: %s", prefix, got)
		}
	}
}

// agree checks that the verdict on what is sent first, once there is one, never
// changes, is there at the latest byte at which it has to be, and is yes if the
// first line is a request.
func agree(t *testing.T, sent string) {
	t.Helper()
	const enough = 24
	line, _, whole := strings.Cut(sent, "\n")
	accepted := whole && ParseRequest([]byte(line), new(Request)) == nil
	before := "unsure"
	for i := range len(sent) + 1 {
		now := opinion(sent[:i])
		switch {
		case before != "unsure" && now != before:
			t.Fatalf("%q: %s, but %s of one byte less", clip(sent[:i]), now, before)
		case now == "unsure" && i >= enough, now == "match without certainty":
			t.Fatalf("%q: %s", clip(sent[:i]), now)
		case accepted && now == "no":
			t.Fatalf("%q: no, but it is the beginning of a request", clip(sent[:i]))
		}
		before = now
	}
	if accepted && before != "yes" {
		t.Fatalf("%q: %s, but it is a request", clip(sent), before)
	}
}

func TestEveryRequestIsRecognized(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		agree(t, c.line+"\n")
		agree(t, c.line+"\r\nP\n")
	}
}

func TestTheVerdictOnNoiseIsFinal(t *testing.T) {
	t.Parallel()
	const alphabet = "HXARKCQPPEER##0123456789  .\r\n-a\x00\xff"
	random := rand.New(rand.NewPCG(7, 1))
	for range 20_000 {
		noise := make([]byte, random.IntN(40))
		for i := range noise {
			noise[i] = alphabet[random.IntN(len(alphabet))]
		}
		agree(t, string(noise))
	}
}
