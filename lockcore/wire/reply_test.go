package wire

import (
	"math"
	"strings"
	"testing"
	"time"
)

// replies are lines in the form in which AppendReply writes them.
var replies = []struct {
	line string
	want Reply
}{
	{"H lock/1 active - 1796097600", Reply{Kind: KindHello, Role: RoleActive, Active: []byte("-"), Generation: 1796097600}},
	{"H#1 lock/1 standby 10.0.0.2:7301 1", Reply{Kind: KindHello, Tag: 1, Role: RoleStandby, Active: []byte("10.0.0.2:7301"), Generation: 1}},
	{"H lock/1 standby ? 0", Reply{Kind: KindHello, Role: RoleStandby, Active: []byte("?")}},
	{"H lock/1 active [::1]:7301 " + maxUint, Reply{Kind: KindHello, Role: RoleActive, Active: []byte("[::1]:7301"), Generation: math.MaxUint64}},
	{"X 1", Reply{Kind: KindGaveUp, N: 1}},
	{"X#4 " + maxUint, Reply{Kind: KindGaveUp, Tag: 4, N: math.MaxUint64}},
	{"A 1928545113132236801 orders/42", Reply{Kind: KindGranted, Token: token, Key: []byte("orders/42")}},
	{"A#17 1928545113132236801 orders/42", Reply{Kind: KindGranted, Tag: 17, Token: token, Key: []byte("orders/42")}},
	{"A 9223372036854775807 k", Reply{Kind: KindGranted, Token: MaxToken, Key: []byte("k")}},
	{"T orders/42", Reply{Kind: KindTimeout, Key: []byte("orders/42")}},
	{"T#17 orders/42", Reply{Kind: KindTimeout, Tag: 17, Key: []byte("orders/42")}},
	{"R 1928545113132236801 orders/42", Reply{Kind: KindReleased, Token: token, Key: []byte("orders/42")}},
	{"R#3 1 k", Reply{Kind: KindReleased, Tag: 3, Token: 1, Key: []byte("k")}},
	{"K 1928545113132236801 orders/42", Reply{Kind: KindKept, Token: token, Key: []byte("orders/42")}},
	{"K#5 1 k", Reply{Kind: KindKept, Tag: 5, Token: 1, Key: []byte("k")}},
	{"C 17 orders/42", Reply{Kind: KindCancelled, Target: 17, Key: []byte("orders/42")}},
	{"C#6 " + maxUint + " k", Reply{Kind: KindCancelled, Tag: 6, Target: math.MaxUint64, Key: []byte("k")}},
	{"Q 1928545113132236801 24.318 2 orders/42", Reply{Kind: KindQueried, Token: token, Left: 24318 * time.Millisecond, Waiters: 2, Key: []byte("orders/42")}},
	{"Q#7 0 0 0 k", Reply{Kind: KindQueried, Tag: 7, Key: []byte("k")}},
	{"Q 1 9223372036.854 9223372036854775807 k", Reply{Kind: KindQueried, Token: 1, Left: maxTime, Waiters: math.MaxInt, Key: []byte("k")}},
	{"P", Reply{Kind: KindPong}},
	{"P#12", Reply{Kind: KindPong, Tag: 12}},
	{"M 10.0.0.2:7301 A orders/42", Reply{Kind: KindMoved, Addr: []byte("10.0.0.2:7301"), Op: OpAcquire, Key: []byte("orders/42")}},
	{"M#17 10.0.0.2:7301 A orders/42", Reply{Kind: KindMoved, Tag: 17, Addr: []byte("10.0.0.2:7301"), Op: OpAcquire, Key: []byte("orders/42")}},
	{"M lock-b:7301 R k", Reply{Kind: KindMoved, Addr: []byte("lock-b:7301"), Op: OpRelease, Key: []byte("k")}},
	{"M lock-b:7301 K k", Reply{Kind: KindMoved, Addr: []byte("lock-b:7301"), Op: OpKeep, Key: []byte("k")}},
	{"M#2 lock-b:7301 Q k", Reply{Kind: KindMoved, Tag: 2, Addr: []byte("lock-b:7301"), Op: OpQuery, Key: []byte("k")}},
	{"M#8 lock-b:7301 C 17 orders/42", Reply{Kind: KindMoved, Tag: 8, Addr: []byte("lock-b:7301"), Op: OpCancel, Target: 17, Key: []byte("orders/42")}},
	{"M lock-b:7301 H -", Reply{Kind: KindMoved, Addr: []byte("lock-b:7301"), Op: OpHello}},
	{"M lock-b:7301 X -", Reply{Kind: KindMoved, Addr: []byte("lock-b:7301"), Op: OpGiveUp}},
	{"M lock-b:7301 1796097601", Reply{Kind: KindMoved, Addr: []byte("lock-b:7301"), Generation: 1796097601}},
	{"M 7301 0", Reply{Kind: KindMoved, Addr: []byte("7301")}},
	{"E R not-held orders/42", Reply{Kind: KindError, Op: OpRelease, Code: CodeNotHeld, Key: []byte("orders/42")}},
	{"E#3 R taken k", Reply{Kind: KindError, Tag: 3, Op: OpRelease, Code: CodeTaken, Key: []byte("k")}},
	{"E K not-held k", Reply{Kind: KindError, Op: OpKeep, Code: CodeNotHeld, Key: []byte("k")}},
	{"E#4 K taken k", Reply{Kind: KindError, Tag: 4, Op: OpKeep, Code: CodeTaken, Key: []byte("k")}},
	{"E#17 A bad-lease orders/42", Reply{Kind: KindError, Tag: 17, Op: OpAcquire, Code: CodeBadLease, Key: []byte("orders/42")}},
	{"E A bad-wait k", Reply{Kind: KindError, Op: OpAcquire, Code: CodeBadWait, Key: []byte("k")}},
	{"E A bad-key ", Reply{Kind: KindError, Op: OpAcquire, Code: CodeBadKey}},
	{"E A bad-key a\x00b", Reply{Kind: KindError, Op: OpAcquire, Code: CodeBadKey, Key: []byte("a\x00b")}},
	{"E C need-hello 17 k", Reply{Kind: KindError, Op: OpCancel, Code: CodeNeedHello, Target: 17, Key: []byte("k")}},
	{"E#5 C not-ready 17 k", Reply{Kind: KindError, Tag: 5, Op: OpCancel, Code: CodeNotReady, Target: 17, Key: []byte("k")}},
	{"E H client-in-use -", Reply{Kind: KindError, Op: OpHello, Code: CodeClientInUse}},
	{"E#7 X need-hello -", Reply{Kind: KindError, Tag: 7, Op: OpGiveUp, Code: CodeNeedHello}},
	{"E P denied -", Reply{Kind: KindError, Op: OpPing, Code: CodeDenied}},
	{"E A too-many-keys k", Reply{Kind: KindError, Op: OpAcquire, Code: CodeTooManyKeys, Key: []byte("k")}},
	{"E A too-many-waiters k", Reply{Kind: KindError, Op: OpAcquire, Code: CodeTooManyWaiters, Key: []byte("k")}},
	{"E Q not-ready k", Reply{Kind: KindError, Op: OpQuery, Code: CodeNotReady, Key: []byte("k")}},
	{"E Q denied k", Reply{Kind: KindError, Op: OpQuery, Code: CodeDenied, Key: []byte("k")}},
	{"E Q some-new-code k", Reply{Kind: KindError, Op: OpQuery, Code: "some-new-code", Key: []byte("k")}},
	{"E malformed expected Q <key>", Reply{Kind: KindError, Text: []byte("expected Q <key>")}},
}

func TestEveryReplyIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range replies {
		for _, line := range []string{c.line, c.line + "\r"} {
			if got := mustReadReply(t, line); !equal(got, c.want) {
				t.Errorf("%q read as%s, want%s", line, show(got), show(c.want))
			}
		}
	}
}

func TestEveryReplyIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range replies {
		if got := reply(c.want); got != c.line+"\n" {
			t.Errorf("%s written as %q, want %q", show(c.want), got, c.line+"\n")
		}
	}
}

func TestEveryKindAndEveryCodeIsInTheTable(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for _, c := range replies {
		lines.WriteString("\n" + c.line)
	}
	for _, kind := range "HXATRKCQPME" {
		if !strings.Contains(lines.String(), "\n"+string(kind)) {
			t.Errorf("no reply of kind %c", kind)
		}
	}
	for _, code := range codes {
		if !strings.Contains(lines.String(), " "+string(code)+" ") {
			t.Errorf("no reply with the code %s", code)
		}
	}
}

func TestAReplyIsReadIntoAUsedOne(t *testing.T) {
	t.Parallel()
	r := mustReadReply(t, "E#5 C not-ready 17 k")
	if err := ParseReply([]byte("P"), &r); err != nil || !equal(r, Reply{Kind: KindPong}) {
		t.Errorf("P after E read as%s, %v", show(r), err)
	}
}

func TestTheKeyOfAReplyAliasesTheLine(t *testing.T) {
	t.Parallel()
	line := []byte("T abc")
	var r Reply
	if err := ParseReply(line, &r); err != nil {
		t.Fatal(err)
	}
	if line[2] = 'X'; string(r.Key) != "Xbc" {
		t.Errorf("the key is a copy: %q", r.Key)
	}
}

func TestTheKeyOfAReplyIsTheRestOfTheLine(t *testing.T) {
	t.Parallel()
	for _, before := range []string{
		"A 1 ", "T#2 ", "R 1 ", "K 1 ", "C 1 ", "Q 1 0.5 0 ", "M a:1 A ", "M a:1 C 5 ", "E A taken ", "E C denied 5 ",
	} {
		for _, key := range []string{" ", " k ", "-", "7", "malformed x", "\xff\xfe\x80", keyOf(MaxKey)} {
			r := mustReadReply(t, before+key)
			if string(r.Key) != key || reply(r) != before+key+"\n" {
				t.Errorf("%s: key %.40q read as %.40q, written as %q", before, key, r.Key, clip(reply(r)))
			}
		}
	}
}

func TestLinesThatAreNoReply(t *testing.T) {
	t.Parallel()
	wrong := map[badReply][]string{
		wantKind: {
			"", "\r", " ", "a 1 k", "B", "B 1 k", "X1", "PP", "A1 k", "A\t1 k", "HTTP/1.1 400 Bad Request", "\x15\x03\x01\x00\x02\x02\x16",
			"SSH-2.0-x", "D#1 k",
		},
		wantReplyTag: {"A# 1 k", "A#0 1 k", "A#01 1 k", "A#x 1 k", "A#" + overUint + " 1 k", "P#", "P#0"},
		wantWelcome: {
			"H", "H ", "H lock/1", "H lock/1 active", "H lock/1 active -", "H lock/1 active - ", "H lock/1 active - x", "H lock/1 active - 01",
			"H lock/1 active - 1 ", "H lock/1 active - 1 x", "H lock/1 active  1", "H lock/2 active - 1", "H lock/1 Active - 1",
			"H lock/1 leader - 1", "H  lock/1 active - 1", "H lock/1 active - " + overUint,
		},
		wantGaveUp:    {"X", "X ", "X x", "X 01", "X 1 ", "X 1 x"},
		wantGranted:   {"A", "A ", "A 1", "A 1 ", "A k", "A  k", "A 01 k", "A -1 k", "A " + overUint + " k"},
		wantTimeout:   {"T", "T ", "T#1", "T#1 "},
		wantReleased:  {"R", "R 1", "R 1 ", "R k"},
		wantKept:      {"K", "K 1", "K 1 ", "K k"},
		wantCancelled: {"C", "C 1", "C 1 ", "C k"},
		wantQueried: {
			"Q", "Q k", "Q 1", "Q 1 2", "Q 1 2 3", "Q 1 2 3 ", "Q x 2 3 k", "Q 1 x 3 k", "Q 1 2 x k", "Q 1 2 -3 k", "Q 1 .5 0 k",
			"Q 1  0 k", "Q 1 2 9223372036854775808 k", "Q 1 2 " + maxUint + " k", "Q 1 9223372036.855 0 k",
		},
		wantPong: {"P ", "P x", "P#1 "},
		wantMoved: {
			"M", "M ", "M a:1", "M a:1 ", "M  A k", "M a:1 A", "M a:1 B k", "M a:1 AA k", "M a:1  A k", "M a:1 1 ", "M a:1 1 k", "M a:1 01",
			"M a:1 C k", "M a:1 C x k", "M a:1 C 1", "M a:1 H", "M a:1 H k", "M a:1 H ", "M a:1 1x",
		},
		wantError: {
			"E", "E ", "E A", "E A ", "E A taken", "E A  k", "E B taken k", "E  A taken k", "E AA taken k", "E malformed", "E Malformed x",
			"E C taken k", "E C taken 1", "E C taken x k", "E H client-in-use", "E H client-in-use ", "E H client-in-use --",
			"E H client-in-use k", "E X need-hello - ",
		},
	}
	for want, lines := range wrong {
		for _, line := range lines {
			var r Reply
			if err := ParseReply([]byte(line), &r); err != want {
				t.Errorf("%q: got %v, want %v", line, err, want)
			}
		}
	}
}

func TestWhatCannotBeIsWrittenAsTheNearest(t *testing.T) {
	t.Parallel()
	expectLine(t, reply(Reply{Kind: KindQueried, Left: -1, Waiters: -1, Key: []byte("k")}), "Q 0 0 0 k\n")
	expectLine(t, reply(Reply{Kind: KindError, Op: OpHello, Code: CodeClientInUse, Key: []byte("-")}), "E H client-in-use -\n")
}

// answers are the longest replies to a request of which these are the parts.
func answers(op Op, tag, target uint64, key []byte) (all []Reply) {
	for _, code := range codes {
		all = append(all, Reply{Kind: KindError, Tag: tag, Op: op, Code: code, Target: target, Key: key})
	}
	if len(key) > MaxKey {
		return all // refused
	}
	return append(all,
		Reply{Kind: Kind(op), Tag: tag, Token: math.MaxUint64, Left: Forever, Waiters: math.MaxInt, Target: target, N: math.MaxUint64, Key: key},
		Reply{Kind: KindHello, Tag: tag, Role: RoleStandby, Active: []byte(keyOf(3000)), Generation: math.MaxUint64},
		Reply{Kind: KindTimeout, Tag: tag, Key: key},
		Reply{Kind: KindMoved, Tag: tag, Addr: []byte(keyOf(3000)), Op: op, Target: target, Key: key},
	)
}

func TestNoReplyIsLongerThanALine(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"A#" + maxUint + " 30 0 ", "R 1 ", "K#" + maxUint + " 1 1 ", "C#" + maxUint + " " + maxUint + " ", "Q "} {
		for _, n := range []int{0, 1, MaxKey, MaxKey + 1, maxRefusedKey} {
			fits(t, before+keyOf(n))
			fits(t, before+strings.Repeat("\r", n)+"\r") // a CR at the end is written twice
		}
	}
	for _, line := range []string{"P#" + maxUint, "X#" + maxUint + " " + maxUint, "H#" + maxUint + " " + keyOf(MaxClientID) + " " + maxUint} {
		fits(t, line)
	}
}

func fits(t *testing.T, line string) {
	t.Helper()
	var r Request
	if _, malformed := ParseRequest([]byte(line), &r).(Malformed); malformed {
		t.Fatalf("%q is malformed", clip(line))
	}
	for _, answer := range answers(r.Op, r.Tag, r.Target, r.Key) {
		if got := reply(answer); len(got) > MaxLine {
			t.Errorf("%q is answered by %q", clip(line), clip(got))
		}
	}
}
