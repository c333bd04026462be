package lockcore

import (
	"fmt"
	"strings"
)

func (h *history) logf(format string, args ...any) {
	if h.log != nil {
		h.log("%4d %s", h.now, fmt.Sprintf(format, args...))
	}
}

func (h *history) logEffects(effects []Effect) {
	if h.log == nil {
		return
	}
	for i := range effects {
		h.log("       %s", plain(&effects[i]))
	}
}

func listed(effects []Effect) string {
	lines := make([]string, 0, len(effects))
	for i := range effects {
		lines = append(lines, plain(&effects[i]))
	}
	return strings.Join(lines, "\n     ")
}

var kindNames = map[Kind]string{
	Granted: "granted", Regranted: "regranted", Queued: "queued", TimedOut: "timed out", Withdrawn: "withdrawn",
	Abandoned: "abandoned", Released: "released", Expired: "expired", Kept: "kept", Cancelled: "cancelled",
	Queried: "queried", Refused: "refused",
}

// plain prints an effect with every field, for people who look for a bug.
func plain(e *Effect) string {
	conn, owner := "-", "-"
	if l, ok := e.Conn.(*line); ok {
		conn = l.name
	}
	if e.Owner != nil {
		owner = e.Owner.Addr
	}
	return fmt.Sprintf("%s %s conn=%s owner=%s tag=%d acquire=%d token=%d lease=%d wait=%d waiters=%d refusal=%d op=%d echo=%t",
		kindNames[e.Kind], e.Key, conn, owner, e.Tag, e.Acquire, e.Token, e.Lease, e.Wait, e.Waiters, e.Refusal, e.Op, e.Echo)
}
