package wire

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

// requests are lines in the form in which AppendRequest writes them.
var requests = []struct {
	line string
	want Request
}{
	{"H 7Qe2mVtKx0Yp4LrWc9sNda 1", Request{Op: OpHello, Client: []byte(client), N: 1}},
	{"H#3 AZaz09._-4567890 " + maxUint, Request{Op: OpHello, Tag: 3, Client: []byte("AZaz09._-4567890"), N: math.MaxUint64}},
	{"H ---------------- 2", Request{Op: OpHello, Client: []byte("----------------"), N: 2}},
	{"X 1", Request{Op: OpGiveUp, N: 1}},
	{"X#4 " + maxUint, Request{Op: OpGiveUp, Tag: 4, N: math.MaxUint64}},
	{"A 30 5 orders/42", Request{Op: OpAcquire, Lease: 30 * time.Second, Wait: 5 * time.Second, Key: []byte("orders/42")}},
	{"A#17 30 0 orders/42", Request{Op: OpAcquire, Tag: 17, Lease: 30 * time.Second, Wait: Forever, Key: []byte("orders/42")}},
	{"A 0.25 try k", Request{Op: OpAcquire, Lease: 250 * time.Millisecond, Wait: Try, Key: []byte("k")}},
	{"A 0.001 0.001 k", Request{Op: OpAcquire, Lease: time.Millisecond, Wait: time.Millisecond, Key: []byte("k")}},
	{"A 86400 2147483648 k", Request{Op: OpAcquire, Lease: 24 * time.Hour, Wait: MaxWait, Key: []byte("k")}},
	{"A#" + maxUint + " 1.05 1.005 k", Request{Op: OpAcquire, Tag: math.MaxUint64, Lease: 1050 * time.Millisecond, Wait: 1005 * time.Millisecond, Key: []byte("k")}},
	{"A 9223372036.854 0 k", Request{Op: OpAcquire, Lease: maxTime, Wait: Forever, Key: []byte("k")}},
	{"R 1928545113132236801 orders/42", Request{Op: OpRelease, Token: token, Key: []byte("orders/42")}},
	{"R#3 9223372036854775807 k", Request{Op: OpRelease, Tag: 3, Token: MaxToken, Key: []byte("k")}},
	{"R " + maxUint + " k", Request{Op: OpRelease, Token: math.MaxUint64, Key: []byte("k")}},
	{"R 0 k", Request{Op: OpRelease, Key: []byte("k")}},
	{"K 1928545113132236801 30 orders/42", Request{Op: OpKeep, Token: token, Lease: 30 * time.Second, Key: []byte("orders/42")}},
	{"K#5 0 0.001 k", Request{Op: OpKeep, Tag: 5, Lease: time.Millisecond, Key: []byte("k")}},
	{"C 1 orders/42", Request{Op: OpCancel, Target: 1, Key: []byte("orders/42")}},
	{"C#6 " + maxUint + " k", Request{Op: OpCancel, Tag: 6, Target: math.MaxUint64, Key: []byte("k")}},
	{"Q orders/42", Request{Op: OpQuery, Key: []byte("orders/42")}},
	{"Q#7 k", Request{Op: OpQuery, Tag: 7, Key: []byte("k")}},
	{"P", Request{Op: OpPing}},
	{"P#12", Request{Op: OpPing, Tag: 12}},
}

func TestEveryRequestIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		if got := mustRead(t, c.line); !equal(got, c.want) {
			t.Errorf("%q read as%s, want%s", c.line, show(got), show(c.want))
		}
	}
}

func TestEveryRequestIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		if got := request(c.want); got != c.line+"\n" {
			t.Errorf("%s written as %q, want %q", show(c.want), got, c.line+"\n")
		}
	}
}

func TestLinesAreAppendedToWhatIsThere(t *testing.T) {
	t.Parallel()
	both := AppendRequest([]byte("P\n"), &Request{Op: OpQuery, Key: []byte("k")})
	if string(both) != "P\nQ k\n" {
		t.Errorf("got %q", both)
	}
}

func TestARequestIsReadIntoAUsedOne(t *testing.T) {
	t.Parallel()
	r := mustRead(t, "A#17 30 5 orders/42")
	if err := ParseRequest([]byte("P"), &r); err != nil || !equal(r, Request{Op: OpPing}) {
		t.Errorf("P after A read as%s, %v", show(r), err)
	}
}

func TestOneCRAtTheEndIsDropped(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		if got := mustRead(t, c.line+"\r"); !equal(got, c.want) {
			t.Errorf("%q with CR read as%s, want%s", c.line, show(got), show(c.want))
		}
	}
}

func TestKeyAndClientAliasTheLine(t *testing.T) {
	t.Parallel()
	line := []byte("Q abc")
	var r Request
	if err := ParseRequest(line, &r); err != nil {
		t.Fatal(err)
	}
	if line[2] = 'X'; string(r.Key) != "Xbc" {
		t.Errorf("the key is a copy: %q", r.Key)
	}
	line = []byte("H " + client + " 1")
	if err := ParseRequest(line, &r); err != nil {
		t.Fatal(err)
	}
	if line[2] = 'X'; r.Client[0] != 'X' {
		t.Errorf("the client id is a copy: %q", r.Client)
	}
}

// A key is the rest of the line, whatever is in it.
func TestAKeyIsTheRestOfTheLine(t *testing.T) {
	t.Parallel()
	keys := []string{
		" ", "  ", " k", "k ", "  a  b  ", "try", "0", "-", "#1", "A 30 0 k", "\t", "\x01\x7f", "\v\f", "\u0085\u2028", "ключ", "鍵",
		"\xff\xfe", "\x80", "a\xc3", "E malformed x", keyOf(MaxKey), strings.Repeat(" ", MaxKey), strings.Repeat("\xff", MaxKey),
	}
	for _, before := range []string{"A 30 5 ", "A#1 0.5 try ", "R 1 ", "K#2 1 30 ", "C 7 ", "Q ", "Q#9 "} {
		for _, key := range keys {
			r := mustRead(t, before+key)
			if string(r.Key) != key || request(r) != before+key+"\n" {
				t.Errorf("%s: key %.40q read as %.40q, written as %q", before, key, r.Key, clip(request(r)))
			}
		}
	}
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	malformed := map[Malformed][]string{
		wantOp: {
			"", "\r", " ", " A 30 0 k", "a 30 0 k", "B 1", "T k", "M x A k", "E A taken k", "0", "#1", "\x00", "\xff",
			"AA 30 0 k", "ACQUIRE 30 0 k", "A30 0 k", "A\t30 0 k", "A-1 30 0 k", "P1", "P\t", "P\r\r", "PEER", "GET / HTTP/1.1",
			"POST / HTTP/1.1", "HELO x", "\x16\x03\x01", "\ufeffP",
		},
		wantTag: {
			"A# 30 0 k", "A#", "A#0 30 0 k", "A#01 30 0 k", "A#1x 30 0 k", "A#x 30 0 k", "A#-1 30 0 k", "A#+1 30 0 k",
			"A##1 30 0 k", "A#1#2 30 0 k", "A#1.0 30 0 k", "A#1\t30 0 k", "A#" + overUint + " 30 0 k",
			"A#99999999999999999999 30 0 k", "A#100000000000000000000 30 0 k", "P#0", "P#", "P#1\r\r", "Q# k", "H#0 " + client + " 1",
			"A#" + strings.Repeat("1", 4000) + " 30 0 k",
		},
		wantAcquire: {
			"A", "A ", "A 30", "A 30 ", "A 30 0", "A  30 0 k", "A  ", "A   ", "A   k", "A 30  0 k", "A 30  k", "A#1", "A#1 ", "A#1 30 0",
		},
		wantRelease: {
			"R", "R ", "R 1", "R k", "R  1 k", "R -1 k", "R +1 k", "R 01 k", "R 00 k", "R 1.0 k", "R 1\tk", "R 0x1 k", "R#1", "R#1 1",
			"R " + overUint + " k", "R 99999999999999999999 k", "R 184467440737095516150 k", "R ١ k",
		},
		wantKeep: {
			"K", "K ", "K 1", "K 1 ", "K 1 30", "K k 30 k", "K  1 30 k", "K 1  30 k", "K 01 30 k", "K " + overUint + " 30 k", "K#1 1 30",
		},
		wantCancel: {
			"C", "C ", "C 1", "C k", "C 0 k", "C 01 k", "C  1 k", "C " + overUint + " k", "C#1 k", "C -1 k",
		},
		wantQuery: {"Q", "Q#1"},
		wantHello: {
			"H", "H ", "H " + client, "H " + client + " ", "H " + client + " 0", "H " + client + " 01", "H " + client + " 1 ",
			"H " + client + " 1 x", "H  " + client + " 1", "H " + client + "  1", "H " + client + " -1", "H " + client + " " + overUint,
			"H " + client + " 1\t", "H 1 " + client, "H " + keyOf(15) + " 1", "H " + keyOf(65) + " 1", "H  1", "H#1 " + client,
			"H 123456789012345/ 1", "H 123456789012345é 1", "H 123456789012345\x00 1", "H 123456789012345@ 1", "H 123456789012345[ 1",
			"H 123456789012345` 1", "H 123456789012345{ 1", "H 123456789012345: 1", "H 123456789012345, 1", "H 123456789012345\xe1 1",
		},
		wantGiveUp: {"X", "X ", "X 0", "X 01", "X  1", "X 1 ", "X 1 x", "X x", "X -1", "X " + overUint, "X#1", "X 1\r\r"},
		wantPing:   {"P ", "P x", "P#1 ", "P#1 x", "P  "},
		keyTooLong: {"Q " + keyOf(maxRefusedKey+1), "A 0 -1 " + keyOf(MaxLine-len("A 0 -1 \n"))},
	}
	for want, lines := range malformed {
		for _, line := range lines {
			var r Request
			if err := ParseRequest([]byte(line), &r); err != want {
				t.Errorf("%q: got %v, want %v", clip(line), err, want)
			}
		}
	}
}

func TestMalformedTextsFitALineAndSayWhatWasExpected(t *testing.T) {
	t.Parallel()
	for _, text := range []Malformed{
		wantOp, wantTag, wantAcquire, wantRelease, wantKeep, wantCancel, wantQuery, wantHello, wantGiveUp, wantPing,
		keyTooLong, ErrLineTooLong, ErrHelloFirst,
	} {
		line := reply(Reply{Kind: KindError, Text: []byte(text)})
		if line != "E malformed "+string(text)+"\n" || len(line) > 100 || bytes.ContainsAny([]byte(text), "\r\n\x00") {
			t.Errorf("%d bytes: %q", len(line), line)
		}
	}
}

func TestBadLease(t *testing.T) {
	t.Parallel()
	for _, lease := range []string{
		"0", "0.0", "0.000", "00", "-1", "+1", "-0", "x", "try", ".5", "5.", ".", "1.2.3", "1.2345", "0.0005", "0.0001", "1e3", "1s", "30s",
		"1,5", "0x1", "inf", "NaN", "1_000", "1.-5", "1. ", "9223372036.855", "9223372037", "99999999999999999999999999",
		"18446744073709551616", "18446744073.709", "\xff", "3\x000", "١",
	} {
		lease = strings.TrimSuffix(lease, " ")
		refused(t, "A "+lease+" 0 k", CodeBadLease, Request{Op: OpAcquire, Key: []byte("k")})
		refused(t, "K#3 7 "+lease+" k", CodeBadLease, Request{Op: OpKeep, Tag: 3, Token: 7, Key: []byte("k")})
	}
}

func TestBadWait(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{
		"0.0", "0.000", "00", "000", "0.", ".0", "-0", "+0", "-1", "x", "Try", "TRY", "tr", "tryy", "try\t", "forever", "2147483648.001",
		"2147483649", "9223372036.854", "9223372037", "99999999999999999999", "0.0001", "1.0005", "1e3", "1s", "\xff",
	} {
		refused(t, "A 30 "+wait+" k", CodeBadWait, Request{Op: OpAcquire, Key: []byte("k")})
		refused(t, "A#9 30 "+wait+"  k", CodeBadWait, Request{Op: OpAcquire, Tag: 9, Key: []byte(" k")})
	}
}

func TestBadKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", keyOf(MaxKey + 1), keyOf(maxRefusedKey), "\x00", "a\x00", "\x00a", "a\x00b", "\ra", "a\rb", "\r\r\ra", strings.Repeat(" ", MaxKey+1),
	} {
		refused(t, "A#1 30 5 "+key, CodeBadKey, Request{Op: OpAcquire, Tag: 1, Key: []byte(key)})
		refused(t, "R 7 "+key, CodeBadKey, Request{Op: OpRelease, Token: 7, Key: []byte(key)})
		refused(t, "K 7 30 "+key, CodeBadKey, Request{Op: OpKeep, Token: 7, Key: []byte(key)})
		refused(t, "C#2 7 "+key, CodeBadKey, Request{Op: OpCancel, Tag: 2, Target: 7, Key: []byte(key)})
		refused(t, "Q "+key, CodeBadKey, Request{Op: OpQuery, Key: []byte(key)})
	}
	refused(t, "Q k\r\r", CodeBadKey, Request{Op: OpQuery, Key: []byte("k\r")})
	refused(t, "Q \r\r", CodeBadKey, Request{Op: OpQuery, Key: []byte("\r")})
	refused(t, "Q \r", CodeBadKey, Request{Op: OpQuery})
}

// refused checks the code, and that the request is known well enough to answer
// it.
func refused(t *testing.T, line string, code Code, want Request) {
	t.Helper()
	var r Request
	err := ParseRequest([]byte(line), &r)
	r.Lease, r.Wait = 0, 0
	if err != code || !equal(r, want) {
		t.Errorf("%q: got %v,%s, want %v,%s", clip(line), err, show(r), code, show(want))
	}
}

func TestTheFirstFaultIsNamed(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]error{
		"A#0 x y \x00":                           wantTag,
		"A x y":                                  wantAcquire,
		"A x y ":                                 CodeBadKey,
		"A x y \x00":                             CodeBadKey,
		"A x y k":                                CodeBadLease,
		"A 1 y k":                                CodeBadWait,
		"K x y \x00":                             wantKeep,
		"K 1 y \x00":                             CodeBadKey,
		"C 0 ":                                   wantCancel,
		"R x " + keyOf(MaxKey+1):                 wantRelease,
		"A x y " + keyOf(maxRefusedKey):          CodeBadKey,
		"A x y " + keyOf(maxRefusedKey+1):        keyTooLong,
		"R 01 " + keyOf(maxRefusedKey+1):         wantRelease,
		"A x y " + keyOf(maxRefusedKey) + "\x00": keyTooLong,
	} {
		var r Request
		if err := ParseRequest([]byte(line), &r); err != want {
			t.Errorf("%q: got %v, want %v", clip(line), err, want)
		}
	}
}

// Without the second CR, a key that must be refused would arrive as the valid
// key without it.
func TestAKeyThatEndsInCRArrivesAsItIs(t *testing.T) {
	t.Parallel()
	line := request(Request{Op: OpRelease, Token: 1, Key: []byte("k\r")})
	refused(t, strings.TrimSuffix(line, "\n"), CodeBadKey, Request{Op: OpRelease, Token: 1, Key: []byte("k\r")})
	line = reply(Reply{Kind: KindError, Op: OpRelease, Code: CodeBadKey, Key: []byte("k\r")})
	if r := mustReadReply(t, strings.TrimSuffix(line, "\n")); string(r.Key) != "k\r" {
		t.Errorf("%q read with the key %q", line, r.Key)
	}
}

func TestTheLongestRequestsFitALine(t *testing.T) {
	t.Parallel()
	key := []byte(keyOf(MaxKey))
	for _, op := range []Op{OpHello, OpGiveUp, OpAcquire, OpRelease, OpKeep, OpCancel, OpQuery, OpPing} {
		line := request(Request{
			Op: op, Tag: math.MaxUint64, Client: []byte(keyOf(MaxClientID)), N: math.MaxUint64, Token: math.MaxUint64,
			Lease: maxTime, Wait: MaxWait - 1, Target: math.MaxUint64, Key: key,
		})
		if len(line) > MaxLine {
			t.Errorf("%c: %d bytes", op, len(line))
		}
		mustRead(t, strings.TrimSuffix(line, "\n"))
	}
}

func TestErrorsReadLikeErrors(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		CodeTaken:      "refused: taken",
		ErrLineTooLong: "malformed: line longer than 4096 bytes",
		wantPong:       "not a reply of the lock protocol: expected P and nothing more",
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err.Error(), want)
		}
	}
}
