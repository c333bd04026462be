package replication

import "testing"

// TestWhatAHandlerReadBeforeItsConnectionWasGivenUpIsNotDoneAfter: a handler
// may be anywhere in its batch when another connection gives it up. Here it has
// ended, and is told lines that it had still to read.
func TestWhatAHandlerReadBeforeItsConnectionWasGivenUpIsNotDoneAfter(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	old, other := h.phone(), h.phone()
	old.ask("H anna............ 1")
	conn := h.node.clients.byID["anna............"].conns[1]
	token := other.acquire("30", "held")
	old.say("X 1")
	old.hear()
	eventually(t, "the handler has ended", func() bool { return len(h.node.conns.list()) == 1 })

	for _, line := range []string{
		"A#1 30 0 free", "A#2 30 0 held", "R " + token + " held", "K " + token + " 1 held", "C 1 held",
	} {
		conn.handle(h.node.now(), []byte(line))
	}
	other.expect("Q free", "Q 0 0 0 free")
	other.expect("K "+token+" 30 held", "K "+token+" held")
	if _, waiting := h.count(); waiting != 0 {
		t.Errorf("%d acquires wait", waiting)
	}
	h.check()
}
