package replication

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A story is a conversation with a node, in virtual time: one step a line, as
// testdata/stories/README.md says.
type story struct {
	t       *testing.T
	host    *host
	callers map[string]*caller
	// tokens are the values of $names; newest is the greatest of them.
	tokens map[string]string
	newest uint64
	// at is the place of the step, for failures.
	at string
}

// line is one line of a story's file.
type storyLine struct {
	at, text string
}

// steps is the language: what a line looks like, and what it does.
var steps = []struct {
	form *regexp.Regexp
	do   func(s *story, args []string)
}{
	{regexp.MustCompile(`^(\w+)> (.*)$`), (*story).callerSends},
	{regexp.MustCompile(`^(\w+)< (.*)$`), (*story).callerReads},
	{regexp.MustCompile(`^(\w+) sends (?:(\d+) times )?(".*")$`), (*story).callerSendsText},
	{regexp.MustCompile(`^(\w+) reads (?:(\d+) times )?(".*")$`), (*story).callerReadsText},
	{regexp.MustCompile(`^(\w+) is cut$`), (*story).callerIsCut},
	{regexp.MustCompile(`^(\w+) dials$`), (*story).callerDials},
	{regexp.MustCompile(`^(\w+) hangs up$`), (*story).callerHangsUp},
	{regexp.MustCompile(`^(\w+) closes its sending side$`), (*story).callerClosesWrite},
	{regexp.MustCompile(`^(\w+) stops reading$`), (*story).callerStopsReading},
	{regexp.MustCompile(`^(\w+) reads on$`), (*story).callerReadsOn},
	{regexp.MustCompile(`^\+ (\S+)$`), (*story).timePasses},
	{regexp.MustCompile(`^options (.+)$`), (*story).optionsAre},
	{regexp.MustCompile(`^the node is not started yet$`), (*story).nodeIsMade},
	{regexp.MustCompile(`^the node starts$`), (*story).nodeStarts},
	{regexp.MustCompile(`^the node is reconfigured$`), (*story).nodeIsReconfigured},
	{regexp.MustCompile(`^the node stops$`), (*story).nodeStops},
	{regexp.MustCompile(`^the node begins to stop$`), (*story).nodeBeginsToStop},
	{regexp.MustCompile(`^the node is killed$`), (*story).nodeIsKilled},
	{regexp.MustCompile(`^the node holds nothing$`), (*story).nodeHoldsNothing},
	{regexp.MustCompile(`^the storage (fails|hangs) at (store|load|delete) (\w+)$`), (*story).storageBreaks},
	{regexp.MustCompile(`^the storage works$`), (*story).storageWorks},
	{regexp.MustCompile(`^the storage is lost$`), (*story).storageIsLost},
	{regexp.MustCompile(`^the storage has (no )?(\S+)$`), (*story).storageHas},
	{regexp.MustCompile(`^the log warns: (.+)$`), (*story).logWarns},
}

// play tells a story.
func play(t *testing.T, lines []storyLine) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{t: t, host: newHost(t), callers: make(map[string]*caller), tokens: make(map[string]string)}
		// An instant of 0 means never in places; no real node is that young.
		time.Sleep(time.Millisecond)
		for _, line := range lines {
			s.at = line.at
			s.step(line.text)
		}
		s.settled()
		s.host.check()
	})
}

func (s *story) step(text string) {
	for _, step := range steps {
		if args := step.form.FindStringSubmatch(text); args != nil {
			step.do(s, args[1:])
			synctest.Wait()
			return
		}
	}
	s.fail("no step looks like %q", text)
}

func (s *story) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s: %s", s.at, fmt.Sprintf(format, args...))
}

// settled fails the story if a caller got a line that the story does not tell.
func (s *story) settled() {
	s.t.Helper()
	for name, c := range s.callers {
		if lines := c.take(); len(lines) > 0 {
			s.fail("before this, %s also got:\n%s", name, strings.Join(lines, "\n"))
		}
	}
}

// caller returns the caller of this name, who dials when first mentioned; the
// node starts by then at the latest.
func (s *story) caller(name string) *caller {
	if s.callers[name] == nil {
		if s.host.node.phase == unstarted && !s.waitsForStart() {
			s.host.start()
		}
		s.callers[name] = s.host.dial()
	}
	return s.callers[name]
}

// waitsForStart reports whether the story wants to see the node before its
// start.
func (s *story) waitsForStart() bool { return s.tokens["not started"] != "" }

func (s *story) callerSends(args []string) {
	s.caller(args[0]).send(s.filled(args[1]) + "\n")
}

func (s *story) callerSendsText(args []string) {
	s.caller(args[0]).send(strings.Repeat(s.filled(s.unquoted(args[2])), s.times(args[1])))
}

func (s *story) callerReads(args []string) { s.reads(args[0], args[1]) }

func (s *story) callerReadsText(args []string) {
	lines := strings.Split(s.unquoted(args[2]), "\n")
	for range s.times(args[1]) {
		for _, line := range lines {
			s.reads(args[0], line)
		}
	}
}

// reads takes the next line that a caller got, which must be the one wanted.
func (s *story) reads(name, want string) {
	line, ok := s.caller(name).next()
	switch {
	case !ok:
		s.fail("%s got nothing, want %q", name, s.filled(want))
	case !s.matches(line, want):
		s.fail("%s got %q, want %q", name, line, s.filled(want))
	}
}

// times reads how often something is done: once if nothing else is said.
func (s *story) times(text string) int {
	if text == "" {
		return 1
	}
	times, err := strconv.Atoi(text)
	if err != nil {
		s.fail("%v", err)
	}
	return times
}

func (s *story) unquoted(quoted string) string {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		s.fail("%s: %v", quoted, err)
	}
	return text
}

func (s *story) callerIsCut(args []string) {
	s.settled()
	if !s.caller(args[0]).isCut() {
		s.fail("%s's connection is still open", args[0])
	}
}

func (s *story) callerDials(args []string) { s.caller(args[0]) }

func (s *story) callerHangsUp(args []string) {
	s.settled()
	s.caller(args[0]).hangUp()
	delete(s.callers, args[0])
}

func (s *story) callerClosesWrite(args []string)  { s.caller(args[0]).closeWrite() }
func (s *story) callerStopsReading(args []string) { s.caller(args[0]).stopReading() }
func (s *story) callerReadsOn(args []string)      { s.caller(args[0]).readOn() }

func (s *story) timePasses(args []string) {
	s.settled()
	d, err := time.ParseDuration(args[0])
	if err != nil {
		s.fail("%v", err)
	}
	time.Sleep(d)
}

// filled puts the values of $names into a line, and spells out {k*3}.
func (s *story) filled(text string) string {
	text = repetition.ReplaceAllStringFunc(text, func(short string) string {
		parts := repetition.FindStringSubmatch(short)
		return strings.Repeat(parts[1], s.times(parts[2]))
	})
	return tokenName.ReplaceAllStringFunc(text, func(name string) string {
		if value, known := s.tokens[name]; known {
			return value
		}
		return name
	})
}

var (
	tokenName  = regexp.MustCompile(`\$\w+`)
	repetition = regexp.MustCompile(`\{(.)\*(\d+)\}`)
)

// matches compares a line with one of the story, field by field. A $name that
// is new stands for a token greater than all before, * for anything, and as the
// last field for any rest.
func (s *story) matches(line, want string) bool {
	wanted := strings.Split(s.filled(want), " ")
	fields := strings.Split(line, " ")
	if wanted[len(wanted)-1] == "*" {
		fields = strings.SplitN(line, " ", len(wanted))
	}
	return slices.EqualFunc(fields, wanted, func(got, want string) bool {
		switch {
		case tokenName.MatchString(want):
			return s.learn(want, got)
		default:
			return want == "*" || got == want
		}
	})
}

func (s *story) learn(name, value string) bool {
	token, err := strconv.ParseUint(value, 10, 63)
	if err != nil || token <= s.newest {
		return false
	}
	s.newest, s.tokens[name] = token, value
	return true
}
