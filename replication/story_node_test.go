package replication

import (
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"
)

// The steps of a story that are about the node and its storage.

func (s *story) nodeIsMade([]string) {
	s.settled()
	if s.host.node.phase == ended {
		s.host.node = NewNode()
	}
	s.tokens["not started"] = "yes"
}

func (s *story) nodeStarts([]string) {
	s.settled()
	delete(s.tokens, "not started")
	s.host.start()
}

func (s *story) nodeIsReconfigured([]string) {
	s.settled()
	s.host.node.Reconfigure(s.host.env())
}

func (s *story) nodeStops([]string) {
	s.settled()
	_ = s.host.stop()
	s.hangUpAll()
}

// nodeBeginsToStop lets the story go on while the node shuts down.
func (s *story) nodeBeginsToStop([]string) {
	go func() { _ = s.host.stop() }()
}

func (s *story) nodeIsKilled([]string) {
	s.settled()
	s.host.kill()
	s.hangUpAll()
}

// hangUpAll forgets the callers of a node that is gone.
func (s *story) hangUpAll() {
	synctest.Wait()
	s.settled()
	for name, c := range s.callers {
		if !c.isCut() {
			s.fail("%s's connection is still open", name)
		}
		c.hangUp()
		delete(s.callers, name)
	}
}

func (s *story) nodeHoldsNothing([]string) {
	held, waiting := s.host.count()
	if used := s.host.node.quota.used.Load(); held != 0 || waiting != 0 || used != 0 {
		s.fail("the node has %d locks held, %d acquires waiting and counts %d keys", held, waiting, used)
	}
}

func (s *story) storageBreaks(args []string) {
	s.host.storage.breakAt(args[1], args[2], fault(args[0]))
}

func (s *story) storageWorks([]string) { s.host.storage.repair() }

func (s *story) storageIsLost([]string) { s.host.storage = newFakeStorage() }

func (s *story) storageHas(args []string) {
	if want := args[0] == ""; s.host.storage.has(args[1]) != want {
		s.fail("the storage has %s: %t", args[1], !want)
	}
}

func (s *story) logWarns(args []string) {
	if !s.host.warned(args[0]) {
		s.fail("the log only warns: %q", s.host.warnings())
	}
}

// optionsAre sets options for the node's next start or reconfiguration.
func (s *story) optionsAre(args []string) {
	for _, option := range strings.Split(args[0], ", ") {
		name, value, _ := strings.Cut(option, " ")
		if !setOption(&s.host.options, name, value) {
			s.fail("there is no option %q", option)
		}
	}
	if err := s.host.options.Validate(); err != nil {
		s.fail("%v", err)
	}
}

// setOption sets one option by its name in the configuration.
func setOption(o *Options, name, value string) bool {
	numbers := map[string]*int{
		"max_keys": &o.MaxKeys, "max_waiters_per_key": &o.MaxWaitersPerKey, "max_connections": &o.MaxConnections,
		"max_key_bytes": &o.MaxKeyBytes, "max_outbox": &o.MaxOutbox,
	}
	durations := map[string]*time.Duration{
		"max_lease": &o.MaxLease, "reconnect_grace": &o.ReconnectGrace, "client_timeout": &o.ClientTimeout,
		"failure_timeout": &o.FailureTimeout,
	}
	var err error
	switch {
	case numbers[name] != nil:
		*numbers[name], err = strconv.Atoi(value)
	case durations[name] != nil:
		*durations[name], err = time.ParseDuration(value)
	default:
		return false
	}
	return err == nil
}

// isStep reports whether a line of a story's file is one of its steps.
func isStep(text string) bool { return text != "" && !slices.Contains([]byte("#="), text[0]) }
