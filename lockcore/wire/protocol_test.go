package wire

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// page reads PROTOCOL.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dialogues are the fenced blocks of the page in which somebody speaks.
func dialogues(t *testing.T) (found [][]string) {
	t.Helper()
	parts := strings.Split(page(t), "\n```")
	if len(parts)%2 == 0 {
		t.Fatal("PROTOCOL.md has a block without an end")
	}
	for i := 1; i < len(parts); i += 2 {
		lines := strings.Split(parts[i], "\n")[1:]
		if slices.ContainsFunc(lines, spoken) {
			found = append(found, lines)
		}
	}
	if len(found) == 0 {
		t.Fatal("PROTOCOL.md has no dialogue")
	}
	return found
}

func spoken(line string) bool {
	return strings.HasPrefix(line, "> ") || strings.HasPrefix(line, "< ")
}

// hearing follows a dialogue: what was asked and is not answered yet.
type hearing struct{ open []string }

// matches names what a reply and its request have in common.
func matches(op Op, tag, target uint64, key []byte) string {
	if !op.hasKey() {
		key = nil
	}
	return fmt.Sprintf("%c#%d %d %q", op, tag, target, key)
}

func (h *hearing) line(line string) error {
	said, is := strings.CutPrefix(line, "> ")
	if is {
		return h.asked(said)
	}
	if said, is = strings.CutPrefix(line, "< "); is {
		return h.answered(said)
	}
	return fmt.Errorf("it begins with neither > nor <")
}

// asked notes how a request may be answered: if it is refused, in one way only.
func (h *hearing) asked(line string) error {
	var r Request
	switch err := ParseRequest([]byte(line), &r).(type) {
	case nil:
		h.open = append(h.open, matches(r.Op, r.Tag, r.Target, r.Key))
		if sent := request(r); sent != line+"\n" {
			return fmt.Errorf("it would be written %q", sent)
		}
	case Code:
		h.open = append(h.open, reply(refusal(&r, err)))
	case Malformed:
		h.open = append(h.open, reply(Reply{Kind: KindError, Text: []byte(err)}))
	default:
		return err
	}
	return nil
}

func (h *hearing) answered(line string) error {
	var r Reply
	if err := ParseReply([]byte(line), &r); err != nil {
		return err
	}
	if sent := reply(r); sent != line+"\n" {
		return fmt.Errorf("it would be written %q", sent)
	}
	op := r.Op
	switch r.Kind {
	case KindMoved, KindError:
	case KindTimeout:
		op = OpAcquire
	default:
		op = Op(r.Kind)
	}
	i := slices.IndexFunc(h.open, func(open string) bool {
		return open == line+"\n" || open == matches(op, r.Tag, r.Target, r.Key)
	})
	if i < 0 {
		return fmt.Errorf("it answers nothing; open are %q", h.open)
	}
	h.open = slices.Delete(h.open, i, i+1)
	return nil
}

func TestTheDialoguesOfThePageAreTheProtocol(t *testing.T) {
	t.Parallel()
	for _, dialogue := range dialogues(t) {
		var h hearing
		for _, line := range dialogue {
			if err := h.line(line); err != nil {
				t.Errorf("%s\n\t%v", line, err)
			}
		}
		if len(h.open) > 0 {
			t.Errorf("%s\n\tnever answered: %q", dialogue[0], h.open)
		}
	}
}

// Clients were written from this one: whatever becomes of the page, it stays.
func TestTheFirstDialogueIsStillUnderstood(t *testing.T) {
	t.Parallel()
	var h hearing
	for _, line := range []string{
		"> H 7Qe2mVtKx0Yp4LrWc9sNda 1",
		"< H lock/1 active - 1796097600",
		"> A#1 30 0 orders/42",
		"> A#2 30 0.5 orders/42",
		"< A#1 1928545113132236801 orders/42",
		"< T#2 orders/42",
		"> R#3 1928545113132236801 orders/42",
		"< R#3 1928545113132236801 orders/42",
	} {
		if err := h.line(line); err != nil {
			t.Errorf("%s\n\t%v", line, err)
		}
	}
	if len(h.open) > 0 {
		t.Errorf("never answered: %q", h.open)
	}
}

func TestThePageShowsEveryRequestAndReplyAndCode(t *testing.T) {
	t.Parallel()
	text := page(t)
	for _, form := range []string{
		"`H <client-id> <n>`", "`X <n>`", "`A <lease> <wait> <key>`", "`R <token> <key>`", "`K <token> <lease> <key>`",
		"`C <tag> <key>`", "`Q <key>`", "`P`", "`T <key>`", "`A <token> <key>`", "`Q <token> <lease-left> <waiters> <key>`",
		"`E malformed <text>`", "`E <op> <code> <key>`", "`M <addr> <op> <key>`", "`M <addr> <generation>`",
		"`E C <code> <tag> <key>`", "`M <addr> C <tag> <key>`", "`H " + version + " <role> <active> <generation>`", "`" + PeerPrefix + "`",
	} {
		if !strings.Contains(text, form) {
			t.Errorf("PROTOCOL.md does not show %s", form)
		}
	}
	for _, code := range codes {
		if !strings.Contains(text, "`"+string(code)+"`") {
			t.Errorf("PROTOCOL.md does not explain %s", code)
		}
	}
}

// What a dialogue says of itself is worth nothing if a wrong one passes, too.
func TestAWrongDialogueIsNoticed(t *testing.T) {
	t.Parallel()
	for _, dialogue := range [][]string{
		{"> P", "< P", "< P"}, {"P"}, {""}, {"> A 30 0 k", "< A 1 other"}, {"> A#1 30 0 k", "< A#2 1 k"},
		{"> A 30 0 k", "< R 1 k"}, {"> A 0 0 k", "< A 1 k"}, {"> please", "< E malformed what"}, {"< hello"}, {"> A 030 0 k"},
		{"> R 1 k", "< E R taken other"}, {"> C 7 k", "< C 8 k"}, {"> Q k", "< Q 1 1.0 0 k"},
	} {
		var h hearing
		wrong := false
		for _, line := range dialogue {
			wrong = h.line(line) != nil || wrong
		}
		if !wrong {
			t.Errorf("nothing is wrong with %q", dialogue)
		}
	}
}
