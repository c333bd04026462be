package lockcore

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// story is the stage: a table, those who speak to it, and the time. A mistake
// in a script is fatal.
type story struct {
	t      *testing.T
	limits Limits
	quota  *bound
	tokens *counter
	table  *Table
	// clock is what the node's clock shows at 0s: every node has its own.
	clock Instant
	now   time.Duration
	lines map[string]*line
	// tokens seen, in the order granted: the first is #1.
	seen []uint64
}

func newStory(t *testing.T) *story {
	s := &story{
		t: t, limits: roomy, quota: &bound{max: 1000},
		tokens: &counter{last: Token(1_796_097_600, 0, 512)}, lines: make(map[string]*line),
	}
	s.newNode(0)
	return s
}

func (s *story) newNode(clock Instant) {
	s.clock = clock
	s.quota = &bound{max: s.quota.max}
	s.table = NewTable(s.tokens, s.quota, s.limits)
}

func (s *story) instant() Instant { return s.clock.Add(s.now) }

// statement carries out one line and returns what it led to.
func (s *story) statement(text string) (told []string) {
	words := strings.Fields(text)
	s.mustf(len(words) > 3, "too short: %s", text)
	now := s.duration(words[1])
	s.mustf(now >= s.now, "time goes backwards: %s", text)
	s.now = now
	switch rest := strings.Join(words[2:], " "); {
	case rest == "the timer rings":
		told = s.timer()
	case rest == "a new node takes over":
		told = s.takeOver()
	case words[2] == "limits":
		s.changeLimits(s.options(words[3:]))
	default:
		told = s.tell(s.command(words[2], words[3], words[4:]))
	}
	check(s.t, s.table)
	return told
}

func (s *story) mustf(ok bool, format string, args ...any) {
	s.t.Helper()
	if !ok {
		s.t.Fatalf(format, args...)
	}
}

func (s *story) duration(text string) time.Duration {
	switch text {
	case "forever":
		return Forever
	case "try":
		return 0
	}
	d, err := time.ParseDuration(text)
	s.mustf(err == nil, "%v", err)
	return d
}

func (s *story) number(text string) uint64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	s.mustf(err == nil, "%v", err)
	return n
}

// options reads pairs of a name and a value.
func (s *story) options(words []string) map[string]string {
	s.mustf(len(words)%2 == 0, "an option without a value: %v", words)
	options := make(map[string]string)
	for i := 0; i < len(words); i += 2 {
		options[words[i]] = words[i+1]
	}
	return options
}

// token reads #1 as the first token granted. One that was never granted stands
// for a token of somebody else's making.
func (s *story) token(text string) uint64 {
	ordinal := int(s.number(strings.TrimPrefix(text, "#")))
	if ordinal < 1 || ordinal > len(s.seen) {
		return 7
	}
	return s.seen[ordinal-1]
}

// who finds a connection: alice is the client alice on her only or first
// connection, alice@2 on another. Names that start with stranger were not given.
func (s *story) who(name string) *line {
	if l := s.lines[name]; l != nil {
		return l
	}
	client, _, _ := strings.Cut(name, "@")
	if strings.HasPrefix(client, "stranger") {
		client = ""
	}
	s.lines[name] = dial(client, name)
	return s.lines[name]
}

func (s *story) command(who, verb string, words []string) []Effect {
	l := s.who(who)
	if verb == "disconnects" {
		delete(s.lines, who)
		return s.table.Disconnect(s.instant(), l)
	}
	s.mustf(len(words) > 0, "%s %s what?", who, verb)
	key, options := []byte(words[0]), s.options(words[1:])
	tag := s.number(options["tag"])
	switch verb {
	case "acquires":
		return s.table.Acquire(s.instant(), &Acquire{
			Conn: l, Owner: l.owner, Tag: tag, Key: key,
			Lease: s.duration(options["lease"]), Wait: s.duration(options["wait"]),
		})
	case "releases":
		return s.table.Release(s.instant(), &Release{Conn: l, Tag: tag, Token: s.token(options["token"]), Key: key})
	case "keeps":
		return s.table.Keep(s.instant(), &Keep{
			Conn: l, Tag: tag, Token: s.token(options["token"]), Lease: s.duration(options["lease"]), Key: key,
		})
	case "cancels":
		return s.table.Cancel(s.instant(), &Cancel{
			Conn: l, Owner: l.owner, Tag: tag, Target: s.number(options["acquire"]), Key: key,
		})
	case "queries":
		return s.table.Query(s.instant(), &Query{Conn: l, Tag: tag, Key: key})
	default:
		s.t.Fatalf("nobody %s", verb)
		return nil
	}
}

// timer lets the table be woken, and says so if it did not ask to be.
func (s *story) timer() []string {
	due := s.table.Due()
	told := s.tell(s.table.Tick(s.instant()))
	switch {
	case due == Never:
		told = append(told, "(the timer was not set)")
	case due != s.instant():
		told = append(told, fmt.Sprintf("(the timer was set to %s)", spell(time.Duration(due-s.clock))))
	}
	return told
}

func (s *story) changeLimits(options map[string]string) {
	for name, value := range options {
		switch name {
		case "keys":
			s.quota.max = int(s.number(value))
		case "waiters":
			s.limits.MaxWaiters = int(s.number(value))
		case "grace":
			s.limits.Grace = s.duration(value)
		default:
			s.t.Fatalf("no limit is called %s", name)
		}
	}
	s.table.SetLimits(s.limits)
}

// takeOver carries the state to another node with another clock.
func (s *story) takeOver() (told []string) {
	held, waiting := sortedSnapshot(s.table, s.instant())
	for i := range held {
		told = append(told, s.heldLine(&held[i]))
	}
	for i := range waiting {
		told = append(told, s.waitingLine(&waiting[i]))
	}
	s.newNode(s.clock + Instant(12345*time.Hour))
	err := restore(s.table, s.instant(), held, waiting)
	s.mustf(err == nil, "%v", err)
	clear(s.lines)
	return told
}
