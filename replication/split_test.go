package replication

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// conversation is what a client sends in a session of many requests.
const conversation = "H anna............ 1\r\nA#1 30 0 orders/42\nQ orders/42\nA 0.5 try  two words \n" +
	"C#2 1 orders/42\nX 9\nP#18446744073709551615\r\nA 0 0 refused\nR 5 free\nnonsense\nA 30 0 never\n"

// replies returns what a new node answers to pieces sent one after the other.
// In virtual time the very tokens are the same again.
func replies(t *testing.T, pieces ...string) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		c := h.dial()
		for _, piece := range pieces {
			c.send(piece)
			synctest.Wait()
		}
		lines = c.take()
		h.check()
		if !c.isCut() {
			t.Error("the connection is still open after a malformed line")
		}
	})
	return lines
}

func TestInputSplitAtAnyByteHasTheSameReplies(t *testing.T) {
	t.Parallel()
	whole := replies(t, conversation)
	if len(whole) != 10 || !strings.HasPrefix(whole[9], "E malformed ") {
		t.Fatalf("the whole conversation is answered by %q", whole)
	}
	want := strings.Join(whole, "\n")
	for i := 1; i < len(conversation); i++ {
		if got := strings.Join(replies(t, conversation[:i], conversation[i:]), "\n"); got != want {
			t.Fatalf("split at byte %d:\n%s\nwant:\n%s", i, got, want)
		}
	}
}

func TestInputThatComesByteByByteHasTheSameReplies(t *testing.T) {
	t.Parallel()
	want := strings.Join(replies(t, conversation), "\n")
	if got := strings.Join(replies(t, strings.Split(conversation, "")...), "\n"); got != want {
		t.Fatalf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestADeadlineLeftOnTheConnectionBeforeDoesNotEndIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		client, server := newPipe()
		_ = server.SetDeadline(time.Now().Add(3 * time.Second))
		h.serve(server)
		c := h.call(client)
		time.Sleep(time.Hour)
		c.send("P\n")
		synctest.Wait()
		if line, _ := c.next(); line != "P" {
			t.Errorf("after an hour P is answered by %q", line)
		}
	})
}
