package wire

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"
)

// within says whether the field is part of the line, and no copy.
func within(field, line []byte) bool {
	if len(field) == 0 {
		return true
	}
	first, last := unsafe.SliceData(field), &field[len(field)-1]
	return uintptr(unsafe.Pointer(first)) >= uintptr(unsafe.Pointer(unsafe.SliceData(line))) &&
		uintptr(unsafe.Pointer(last)) <= uintptr(unsafe.Pointer(&line[len(line)-1]))
}

func FuzzParseRequest(f *testing.F) {
	for _, c := range requests {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 || len(line) >= MaxLine {
			return // whoever cuts the lines never hands one over
		}
		if problem := compareWithTwin(string(line)); problem != "" {
			t.Fatal(problem)
		}
		var r Request
		err := ParseRequest(line, &r)
		if !within(r.Key, line) || !within(r.Client, line) {
			t.Errorf("%q: a copy was made", line)
		}
		switch err := err.(type) {
		case nil:
			readBack(t, line, r)
		case Code:
			refusable(t, r, err)
		}
	})
}

// readBack writes an accepted request and reads it again.
func readBack(t *testing.T, line []byte, r Request) {
	t.Helper()
	written := request(r)
	if again := mustRead(t, strings.TrimSuffix(written, "\n")); !equal(again, r) {
		t.Errorf("%q read as%s, written as %q, read as%s", line, show(r), written, show(again))
	}
	for _, sent := range []string{string(line) + "\n", written} {
		if match, certain := Recognize([]byte(sent)); !match || !certain {
			t.Errorf("%q is not recognized", sent)
		}
	}
}

// refusable: the refusal is a line that says which request it answers.
func refusable(t *testing.T, r Request, code Code) {
	t.Helper()
	want := Reply{Kind: KindError, Tag: r.Tag, Op: r.Op, Code: code, Target: r.Target, Key: r.Key}
	line := reply(want)
	if got := mustReadReply(t, strings.TrimSuffix(line, "\n")); !equal(got, want) || len(line) > MaxLine {
		t.Errorf("%d bytes: %q read as%s, want%s", len(line), line, show(got), show(want))
	}
}

func FuzzParseReply(f *testing.F) {
	for _, c := range replies {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var r Reply
		if bytes.IndexByte(line, '\n') >= 0 || ParseReply(line, &r) != nil {
			return
		}
		if !within(r.Key, line) || !within(r.Active, line) || !within(r.Addr, line) || !within(r.Text, line) {
			t.Errorf("%q: a copy was made", line)
		}
		written := reply(r)
		if again := mustReadReply(t, strings.TrimSuffix(written, "\n")); !equal(again, r) {
			t.Errorf("%q read as%s, written as %q, read as%s", line, show(r), written, show(again))
		}
	})
}

func FuzzRecognize(f *testing.F) {
	for _, c := range requests {
		f.Add([]byte(c.line + "\n"))
	}
	for _, other := range []string{"", "PEER\x01", "GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n", "\x16\x03\x01\x02\x00", "P\rx", "A#00 1"} {
		f.Add([]byte(other))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		match, certain := Recognize(sent)
		if match && !certain || !certain && len(sent) >= 24 {
			t.Errorf("%q: %v, certain: %v", sent, match, certain)
		}
		for n := range sent {
			early, sure := Recognize(sent[:n])
			if sure && (early != match || !certain) {
				t.Errorf("%q: %v was certain after %d bytes, then %v", sent, early, n, match)
			}
		}
		var r Request
		line, _, ended := bytes.Cut(sent, []byte("\n"))
		if ended && !match && ParseRequest(line, &r) == nil {
			t.Errorf("%q is a request, but not recognized", line)
		}
	})
}
