package wire

import "testing"

// noAllocs measures; it must not run in parallel with anything.
func noAllocs(t *testing.T, of string, f func()) {
	t.Helper()
	if allocs := testing.AllocsPerRun(200, f); allocs != 0 {
		t.Errorf("%q: %v allocations each time", of, allocs)
	}
}

func TestRequestsAreReadAndWrittenWithoutAllocation(t *testing.T) {
	buf := make([]byte, 0, MaxLine)
	for _, c := range requests {
		line := []byte(c.line)
		var r Request
		noAllocs(t, c.line, func() { _ = ParseRequest(line, &r) })
		noAllocs(t, c.line, func() { buf = AppendRequest(buf[:0], &r) })
		noAllocs(t, c.line, func() { Recognize(line) })
	}
}

func TestRefusalsAreMadeWithoutAllocation(t *testing.T) {
	for _, line := range []string{"A 0 0 k", "A 1 x k", "Q ", "Q a\x00", "Q " + keyOf(MaxKey+1), "K 1 1e3 k"} {
		sent := []byte(line)
		var r Request
		noAllocs(t, clip(line), func() { _ = ParseRequest(sent, &r) })
	}
}

func TestRepliesAreReadAndWrittenWithoutAllocation(t *testing.T) {
	buf := make([]byte, 0, MaxLine)
	for _, c := range replies {
		if c.want.Code == "some-new-code" {
			continue // only a code that is not known has to be copied
		}
		line := []byte(c.line)
		var r Reply
		noAllocs(t, c.line, func() { _ = ParseReply(line, &r) })
		noAllocs(t, c.line, func() { buf = AppendReply(buf[:0], &r) })
	}
}
