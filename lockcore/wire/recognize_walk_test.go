package wire

import "testing"

// More bytes never change what was certain, and 24 are always enough.
func TestRecognizeKeepsToItsWord(t *testing.T) {
	t.Parallel()
	walk(t, nil)
}

// walk goes through every prefix that leaves it open, over the bytes that matter.
// A run of digits is walked with one digit only.
func walk(t *testing.T, prefix []byte) {
	if len(prefix) > 23 {
		t.Errorf("%q: %d bytes leave it open", prefix, len(prefix))
		return
	}
	var outcomes [2]bool
	for _, b := range []byte("AHXRKCQPE#12\n\r x/\x00\xff") {
		next := append(prefix[:len(prefix):len(prefix)], b)
		match, certain := Recognize(next)
		if !certain {
			outcomes[0], outcomes[1] = true, true
		} else if outcomes[btoi(match)] = true; !keeps(next, match) {
			t.Errorf("%q: more bytes change %v", next, match)
		}
		if !certain && b != '2' {
			walk(t, next)
		}
	}
	if outcomes != [2]bool{true, true} {
		t.Errorf("%q was left open, but every byte decides it in the same way", prefix)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// keeps tries what may follow.
func keeps(prefix []byte, want bool) bool {
	for _, more := range []string{"\n", "1", " ", "#", "\x00", "EER", " 1\n", "\r\n"} {
		match, certain := Recognize(append(prefix[:len(prefix):len(prefix)], more...))
		if match != want || !certain {
			return false
		}
	}
	return true
}
