package load

import (
	"bytes"
	"fmt"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// take holds a reply against what is in flight. The replies to expect are told
// by their ends; whatever else comes is read in full.
func (l *Lane) take(line []byte, p Plan) error {
	s, middle := l.slotOf(line)
	if s == nil {
		return l.takeRefusal(line)
	}
	if !l.accept(s, middle) {
		return fmt.Errorf("the reply %q to %c for %q, whose last token is %q, is wrong",
			line, s.awaits, s.key, s.Token())
	}
	l.latency.Add(l.now - s.sent)
	l.rest(s)
	return p.Next(l, s)
}

// rest notes that the slot's request was answered.
func (l *Lane) rest(s *Slot) {
	s.awaits, s.answered = resting, s.awaits
	l.waiting--
}

// slotOf returns the slot whose op a line starts with and whose key it ends with,
// or nil, and what stands in between.
func (l *Lane) slotOf(line []byte) (s *Slot, middle []byte) {
	end := len(line) - len(l.slots[0].key) - 1
	if end <= len("A ") || line[1] != ' ' || line[end] != ' ' {
		return nil, nil
	}
	s = l.slotAwaiting(wire.Op(line[0]), line[end+1:])
	return s, line[len("A "):end]
}

// slotAwaiting returns the slot that has a request in flight, or nil.
func (l *Lane) slotAwaiting(op wire.Op, key []byte) *Slot {
	if op == resting || len(key) != len(l.slots[0].key) {
		return nil
	}
	i := slotOfKey(key)
	if i < 0 || i >= len(l.slots) {
		return nil
	}
	s := &l.slots[i]
	if s.awaits != op || !bytes.Equal(key, s.key) {
		return nil
	}
	return s
}

// accept says whether a reply is what its request asked for: the token released,
// or one greater than any that the lane was granted before. Tokens grow over all
// keys, and nobody's release but the lane's own makes the server decide for two
// of its slots at once.
func (l *Lane) accept(s *Slot, middle []byte) bool {
	if s.awaits == wire.OpRelease {
		return bytes.Equal(middle, s.Token())
	}
	if l.readGrant != nil {
		granted, ok := l.readGrant(middle)
		s.SetToken(granted)
		return ok
	}
	if !isToken(middle) || !l.last.isBelow(middle) {
		return false
	}
	l.last.set(middle)
	s.SetToken(middle)
	return true
}

// takeRefusal takes the replies that say why something was not done. The error
// it returns means that nothing more can be expected of the connection.
func (l *Lane) takeRefusal(line []byte) error {
	var r wire.Reply
	if err := wire.ParseReply(line, &r); err != nil {
		return fmt.Errorf("reading the reply %q: %w", line, err)
	}
	switch {
	case r.Kind == wire.KindError && r.Op == 0:
		return fmt.Errorf("the server could not read a request; it says %q", line)
	case r.Kind == wire.KindMoved && r.Op == 0:
		l.refuse(fmt.Errorf("the active node changed in the middle of the run: %w", &MovedError{Addr: string(r.Addr)}))
		return nil
	case r.Kind != wire.KindError && r.Kind != wire.KindMoved:
		return fmt.Errorf("the reply %q answers no request", line)
	}
	s := l.slotAwaiting(r.Op, r.Key)
	if s == nil {
		return fmt.Errorf("the reply %q refuses what was not asked for", line)
	}
	l.rest(s)
	l.refuse(refusal(&r))
	return nil
}

func (l *Lane) refuse(err error) {
	if l.refused == nil {
		l.refused = err
	}
}
