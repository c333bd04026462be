package replication

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// FuzzSession reads bytes as what two clients of one node do: each step begins
// with a byte that says who does what. Whatever they send, the node neither
// panics nor hangs, what must be true of its tables is, and once all are gone
// and all times over, nothing is left.
func FuzzSession(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	for _, seed := range sessionSeeds {
		for _, size := range []uint8{0, 1, 7} {
			f.Add([]byte(seed), size)
		}
	}
	f.Fuzz(func(t *testing.T, script []byte, size uint8) {
		synctest.Test(t, func(t *testing.T) {
			newSession(t).run(script, 1+int(size))
		})
	})
}

// sessionSeeds are conversations; in them { and } take turns, ~ hangs up, and !
// lets time pass.
var sessionSeeds = []string{
	conversation,
	"A 30 0 k\nQ k\n}A 30 0.5 k\n!{R 1 k\n",
	"{H anna............ 1\nA#1 0.01 0 k\n}H anna............ 2\nX 1\nA#1 30 0 k\nC#2 1 k\n",
	"{H anna............ 1\nA#1 30 0 k\n}H bert............ 1\nA#1 30 0 k\n~A 30 try k\nH bert............ 2\nA#1 1 0 k\n",
	"{A 0.001 0 k\nA 0.001 0 k\nA 0.001 0 k\n!!!~}K 5 5 k\n\r\n\x00\xff",
	"{H anna............ 1\nX 1\nX 1\n}H anna............ 1\nA 3 3 k\nP\nP#5\n",
}

// session is two clients that take turns at one node.
type session struct {
	host    *host
	callers [2]*caller
	turn    int
}

func newSession(t *testing.T) *session {
	h := newHost(t)
	h.options.MaxKeys, h.options.MaxWaitersPerKey = 4, 4
	h.options.MaxLease = time.Minute
	h.start()
	return &session{host: h, callers: [2]*caller{h.dial(), h.dial()}}
}

// run plays a script: text is sent in pieces of a size, a control byte does
// something else.
func (s *session) run(script []byte, size int) {
	for len(script) > 0 {
		if control(script[0]) {
			s.control(script[0])
			script = script[1:]
			continue
		}
		piece := 0
		for piece < min(size, len(script)) && !control(script[piece]) {
			piece++
		}
		s.callers[s.turn].send(string(script[:piece]))
		script = script[piece:]
		synctest.Wait()
	}
	s.host.check()
	s.finish()
}

func control(b byte) bool { return strings.IndexByte("{}~!", b) >= 0 }

func (s *session) control(b byte) {
	switch b {
	case '{', '}':
		s.turn = int(b-'{') / 2
	case '~':
		s.callers[s.turn].hangUp()
		s.callers[s.turn] = s.host.dial()
	case '!':
		time.Sleep(100 * time.Millisecond)
	}
	synctest.Wait()
}

// finish lets everybody go and every time end.
func (s *session) finish() {
	for _, c := range s.callers {
		c.hangUp()
	}
	time.Sleep(s.host.options.MaxLease + s.host.options.ReconnectGrace)
	synctest.Wait()
	s.host.check()
	if !s.host.isEmpty() {
		s.host.tb.Error("something is left when everybody has gone and every lease is over")
	}
}
