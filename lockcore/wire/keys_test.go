package wire

import (
	"fmt"
	"strings"
	"testing"
)

// beforeKey are the requests that end in a key, up to it.
var beforeKey = []string{
	"A 30 0 ", "A#17 30 try ", "R 17 ", "R#1 0 ", "K 17 30 ", "K#1 17 0.5 ", "C 17 ", "C#1 17 ", "Q ", "Q#1 ",
	"A#" + maxUint + " 2147483648 2147483648 ", "C#" + maxUint + " " + maxUint + " ",
}

func TestAKeyIsAnyBytesButNULAndCR(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		key := "a" + string([]byte{byte(b)}) + "z"
		var want error
		if b == 0 || b == '\r' {
			want = CodeBadKey
		}
		var r Request
		if err := ParseRequest([]byte("Q "+key), &r); err != want || string(r.Key) != key {
			t.Errorf("%q: key %q, %v", key, r.Key, err)
		}
	}
}

func TestAKeyHas1To1024Bytes(t *testing.T) {
	t.Parallel()
	for _, before := range beforeKey {
		for _, n := range []int{0, 1, 2, 1023, 1024, 1025, 1026, 2048, 3900} {
			var want error
			if n == 0 || n > 1024 {
				want = CodeBadKey
			}
			var r Request
			if err := ParseRequest([]byte(before+keyOf(n)), &r); err != want || len(r.Key) != n {
				t.Errorf("%s and %d bytes: %d bytes, %v", before, n, len(r.Key), err)
			}
		}
	}
}

// refusal is the reply to a request that is refused.
func refusal(r *Request, code Code) Reply {
	return Reply{Kind: KindError, Tag: r.Tag, Op: r.Op, Code: code, Target: r.Target, Key: r.Key}
}

// fitting checks that a key too long is refused if the refusal fits into a line,
// and malformed if not.
func fitting(line string) error {
	var r Request
	err := ParseRequest([]byte(line), &r)
	code, refused := err.(Code)
	sent := reply(refusal(&r, code))
	switch _, malformed := err.(Malformed); {
	case refused && len(sent) > MaxLine:
		return fmt.Errorf("refused with a line of %d bytes", len(sent))
	case !refused && !malformed:
		return fmt.Errorf("got %v", err)
	case malformed && len(line) < 4000:
		return fmt.Errorf("malformed, although a refusal would fit")
	}
	return nil
}

func TestAKeyTooLongToRepeatIsMalformed(t *testing.T) {
	t.Parallel()
	for _, before := range beforeKey {
		for _, end := range []string{"k", "\r\r", "\x00", " "} {
			for n := 3900; len(before)+n+len(end) < MaxLine; n++ {
				line := before + keyOf(n) + end
				if err := fitting(line); err != nil {
					t.Fatalf("%q: %v", clip(line), err)
				}
			}
		}
	}
}

func TestOnlyASpaceSeparates(t *testing.T) {
	t.Parallel()
	for _, separator := range []string{"\t", "\v", "\x00", "\u00a0", "\u2028", ",", "\r", "\r ", "\n", "  "} {
		for _, c := range requests {
			var r Request
			line := strings.Replace(c.line, " ", separator, 1)
			err := ParseRequest([]byte(line), &r)
			if separator == "  " && c.want.Op == OpQuery {
				continue // a key may begin with a space
			}
			if _, malformed := err.(Malformed); line != c.line && !malformed {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
}

func TestAClientIDHas16To64Bytes(t *testing.T) {
	t.Parallel()
	for n := range 70 {
		var r Request
		err := ParseRequest([]byte("H "+keyOf(n)+" 1"), &r)
		if want := 16 <= n && n <= 64; (err == nil) != want || want && len(r.Client) != n {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestAClientIDIsLettersDigitsAndThreeMore(t *testing.T) {
	t.Parallel()
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	for b := range 256 {
		var r Request
		err := ParseRequest([]byte("H 0123456789abcde"+string([]byte{byte(b)})+"f 1"), &r)
		if want := strings.IndexByte(allowed, byte(b)) >= 0; (err == nil) != want {
			t.Errorf("byte %#02x: %v", b, err)
		}
	}
}
