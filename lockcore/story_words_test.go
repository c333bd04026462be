package lockcore

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// spell writes a duration as people do.
func spell(d time.Duration) string {
	if d == Forever {
		return "forever"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// ordinal writes a token as its number among all granted.
func (s *story) ordinal(token uint64) string {
	if at := slices.Index(s.seen, token); at >= 0 {
		return fmt.Sprintf("#%d", at+1)
	}
	return "#?"
}

func (s *story) tell(effects []Effect) (told []string) {
	for i := range effects {
		told = append(told, s.sentence(&effects[i]))
	}
	return told
}

// sentence words an effect: answers have an arrow after the connection that
// gets them.
func (s *story) sentence(e *Effect) string {
	if e.Kind == Granted && !e.Echo {
		s.seen = append(s.seen, e.Token)
	}
	if l, ok := e.Conn.(*line); ok {
		told := l.name + " <- " + tagged(e.Tag) + s.answer(e)
		if e.Echo {
			told += " (the same answer)"
		}
		return told
	}
	return s.fact(e)
}

func tagged(tag uint64) string {
	if tag == 0 {
		return ""
	}
	return fmt.Sprintf("[%d] ", tag)
}

var refusalWords = map[Refusal]string{
	NotHeld: "nobody holds it", Taken: "another token holds it",
	TooManyKeys: "too many keys", TooManyWaiters: "too many waiters",
}

func (s *story) answer(e *Effect) string {
	switch e.Kind {
	case Granted:
		return fmt.Sprintf("granted %s token %s lease %s", e.Key, s.ordinal(e.Token), spell(e.Lease))
	case Regranted:
		return fmt.Sprintf("still granted %s token %s lease left %s", e.Key, s.ordinal(e.Token), spell(e.Lease))
	case TimedOut:
		return fmt.Sprintf("timed out %s", e.Key)
	case Released:
		return fmt.Sprintf("released %s token %s", e.Key, s.ordinal(e.Token))
	case Kept:
		return fmt.Sprintf("kept %s token %s lease %s", e.Key, s.ordinal(e.Token), spell(e.Lease))
	case Cancelled:
		return fmt.Sprintf("cancelled %s acquire %d", e.Key, e.Acquire)
	case Queried:
		return s.queried(e)
	case Refused:
		return fmt.Sprintf("refused %s: %s", e.Key, refusalWords[e.Refusal])
	default:
		return plain(e)
	}
}

func (s *story) queried(e *Effect) string {
	if e.Token == 0 {
		return fmt.Sprintf("%s is free, %d wait", e.Key, e.Waiters)
	}
	return fmt.Sprintf("%s is held by token %s lease left %s, %d wait", e.Key, s.ordinal(e.Token), spell(e.Lease), e.Waiters)
}

// fact words an effect that answers nobody.
func (s *story) fact(e *Effect) string {
	whose := fmt.Sprintf("%s %s", named(e.Owner), tagged(e.Acquire))
	switch e.Kind {
	case Queued:
		return whose + fmt.Sprintf("waits for %s lease %s wait %s", e.Key, spell(e.Lease), spell(e.Wait))
	case TimedOut:
		return whose + fmt.Sprintf("waits no more for %s: its wait is over, nobody is there to be told", e.Key)
	case Withdrawn:
		return whose + fmt.Sprintf("waits no more for %s: cancelled", e.Key)
	case Abandoned:
		return whose + fmt.Sprintf("waits no more for %s: nobody is left to be told", e.Key)
	case Released:
		return whose + fmt.Sprintf("holds %s no more: token %s released", e.Key, s.ordinal(e.Token))
	case Expired:
		return whose + fmt.Sprintf("holds %s no more: token %s expired, %d present", e.Key, s.ordinal(e.Token), e.Waiters)
	default:
		return plain(e)
	}
}

func named(owner *Owner) string {
	if owner.Client == "" {
		return owner.Addr
	}
	return owner.Client
}

func (s *story) heldLine(h *Held) string {
	return fmt.Sprintf("%s %sholds %s token %s lease %s, %s of it left, held for %s",
		named(h.Owner), tagged(h.Tag), h.Key, s.ordinal(h.Token), spell(h.Lease), spell(h.Left), spell(h.Age))
}

func (s *story) waitingLine(w *Waiting) string {
	state := ""
	if w.Away {
		state = ", is away"
	}
	if !w.Survives() {
		state += ", cannot come back: not taken over"
	}
	return fmt.Sprintf("%s %swaits for %s lease %s, wait left %s, waited for %s%s",
		named(w.Owner), tagged(w.Tag), w.Key, spell(w.Lease), spell(w.Left), spell(w.Age), state)
}
