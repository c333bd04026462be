package client_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// history records what was said and fails the test when a client breaks a rule
// of the protocol that no server can enforce. The cluster's mutex guards it.
type history struct {
	tb      testing.TB
	lines   []string
	asked   []asked
	greet   map[greetingID]int
	tags    map[tagID]*tagUse
	longest time.Duration
	// maxSilence is how long a client may say nothing on a connection.
	maxSilence time.Duration
	// strangers may release tokens that they were not granted.
	strangers bool
}

// asked is one request that came.
type asked struct {
	at   time.Time
	s    *session
	line string
	wire.Request
}

type greetingID struct {
	client string
	number uint64
}

type tagID struct {
	client string
	tag    uint64
}

// tagUse is what a tag was used for, and on which connections.
type tagUse struct {
	op       wire.Op
	key      string
	sessions []*session
	// settled are the connections on which it was answered.
	settled map[*session]bool
}

func newHistory(tb testing.TB) *history {
	return &history{
		tb: tb, greet: make(map[greetingID]int), tags: make(map[tagID]*tagUse),
		maxSilence: 10 * time.Second,
	}
}

// keptLines bounds what is remembered, printedLines what a failed test prints.
const (
	keptLines    = 100_000
	printedLines = 300
)

func (h *history) note(s *session, direction, line string) {
	h.lines = append(h.lines, fmt.Sprintf("%s [%s] %s %s", time.Now().Format("04:05.000"), s, direction, line))
	if len(h.lines) > 2*keptLines {
		h.lines = append([]string(nil), h.lines[keptLines:]...)
	}
}

func (h *history) breach(s *session, format string, args ...any) {
	h.tb.Helper()
	h.tb.Errorf("protocol: "+format+" ["+s.String()+"]", args...)
}

// request holds a request against the rules.
func (h *history) request(s *session, line string, r *wire.Request, err error) {
	h.note(s, ">", line)
	h.silence(s)
	if err != nil {
		h.breach(s, "%q cannot be read: %v", line, err)
		return
	}
	kept := *r
	kept.Key, kept.Client = append([]byte(nil), r.Key...), append([]byte(nil), r.Client...)
	h.asked = append(h.asked, asked{time.Now(), s, line, kept})
	h.storm()
	switch r.Op {
	case wire.OpHello:
		h.hello(s, r)
	case wire.OpCancel:
		h.cancel(s, r)
	case wire.OpRelease:
		h.release(s, r)
	}
	if r.Tag != 0 {
		h.tag(s, r)
	} else if r.Op != wire.OpHello && r.Op != wire.OpGiveUp && r.Op != wire.OpPing {
		h.breach(s, "%q has no tag", line)
	}
}

// stormy is how many requests in one instant of virtual time are a storm.
const stormy = 20_000

// storm ends the run if a client asks without end in one instant: time would
// never go on, and the test would hang without a word.
func (h *history) storm() {
	if n := len(h.asked); n >= stormy && h.asked[n-stormy].at.Equal(h.asked[n-1].at) {
		for _, line := range h.lines[max(0, len(h.lines)-50):] {
			fmt.Fprintln(os.Stderr, line)
		}
		panic(h.tb.Name() + ": a client asks without end")
	}
}

func (h *history) silence(s *session) {
	quiet := time.Since(s.heard)
	h.longest = max(h.longest, quiet)
	if quiet > h.maxSilence {
		h.breach(s, "nothing was said for %s", quiet)
	}
}

// hello: a number names one connection for ever.
func (h *history) hello(s *session, r *wire.Request) {
	id := greetingID{string(r.Client), r.N}
	if other, used := h.greet[id]; used {
		h.breach(s, "number %d was used before, on link %d", r.N, other)
	}
	h.greet[id] = s.link.index
}

// tag: one tag, one request; only an acquire may be repeated, after X for a
// connection given up that it is not settled on.
func (h *history) tag(s *session, r *wire.Request) {
	id := tagID{s.client, r.Tag}
	use := h.tags[id]
	if use == nil {
		h.tags[id] = &tagUse{r.Op, string(r.Key), []*session{s}, make(map[*session]bool)}
		return
	}
	if use.op != r.Op || r.Op != wire.OpAcquire || use.key != string(r.Key) {
		h.breach(s, "tag %d of %c %q is used again for %c %q", r.Tag, use.op, use.key, r.Op, r.Key)
	}
	h.givenUpFirst(s, use, r)
	use.sessions = append(use.sessions, s)
}

// cancel: like a repetition.
func (h *history) cancel(s *session, r *wire.Request) {
	use := h.tags[tagID{s.client, r.Target}]
	switch {
	case use == nil:
		// The acquire was lost on its way.
	case use.op != wire.OpAcquire || use.key != string(r.Key):
		h.breach(s, "C names tag %d, which is %c %q", r.Target, use.op, use.key)
	default:
		h.givenUpFirst(s, use, r)
	}
}

func (h *history) givenUpFirst(s *session, use *tagUse, r *wire.Request) {
	for _, earlier := range use.sessions {
		if earlier == s || use.settled[earlier] || !earlier.link.client.isClosed() || s.gaveUp[earlier.number] {
			continue
		}
		h.breach(s, "%c %q without X %d before", r.Op, r.Key, earlier.number)
	}
}

func (h *history) release(s *session, r *wire.Request) {
	if h.strangers {
		return
	}
	for _, t := range s.node.cluster.tables() {
		if owner, granted := t.grants[r.Token]; granted && owner == s.client {
			return
		}
	}
	h.breach(s, "R %d %q of a token that the client was never granted", r.Token, r.Key)
}

// answered: M and E say that the request was not carried out.
func (h *history) answered(s *session, r *wire.Reply) {
	if use := h.tags[tagID{s.client, r.Tag}]; use != nil && r.Tag != 0 {
		use.settled[s] = r.Kind == wire.KindMoved || r.Kind == wire.KindError
	}
}

func (h *history) ended(s *session) {
	h.note(s, "-", "ended")
}

// print shows the last lines of a failed test.
func (h *history) print() {
	for _, line := range h.lines[max(0, len(h.lines)-printedLines):] {
		h.tb.Log(line)
	}
}

// about prints the last lines that are about a key.
func (h *history) about(key string) {
	var lines []string
	for _, line := range h.lines {
		if strings.HasSuffix(line, " "+key) {
			lines = append(lines, line)
		}
	}
	for _, line := range lines[max(0, len(lines)-printedLines/5):] {
		h.tb.Log(line)
	}
}

// requests returns the requests that came of an op, in order; of any if op is 0.
func (c *cluster) requests(op wire.Op) (found []asked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.history.asked {
		if op == 0 || a.Op == op {
			found = append(found, a)
		}
	}
	return found
}
