package client_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// speaker speaks the protocol by hand, to test the scripted server.
type speaker struct {
	t     *testing.T
	sock  net.Conn
	lines *bufio.Reader
}

func (w *world) speaker(addr string) *speaker {
	w.t.Helper()
	sock, err := w.dial(w.t.Context(), "tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = sock.SetReadDeadline(time.Now().Add(time.Hour))
	return &speaker{w.t, sock, bufio.NewReader(sock)}
}

func (s *speaker) say(lines ...string) {
	_, _ = s.sock.Write([]byte(strings.Join(lines, "\n") + "\n"))
}

func (s *speaker) hears(want ...string) {
	s.t.Helper()
	for _, line := range want {
		got, err := s.lines.ReadString('\n')
		if !strings.HasPrefix(got, line) {
			s.t.Fatalf("got %q, %v, want %q", got, err, line)
		}
	}
}

func TestTheScriptedServerSpeaksTheProtocol(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
		w.history.strangers = true
		one, two := w.speaker(nodeA), w.speaker(nodeA)
		one.say("H anna............ 1", "A#1 30 0 k", "A#2 30 0.5 k", "Q#3 k", "P")
		one.hears("H lock/1 active - ", "A#1 1152921504606846977 k", "Q#3 1152921504606846977 30 1 k", "P", "T#2 k")
		two.say("H anna............ 2", "A#4 30 0 k", "C#5 4 k", "A#6 30 0 k", "X 1")
		two.hears("H", "C#5 4 k", "X 1")
		if got, err := one.lines.ReadByte(); err != io.EOF {
			t.Errorf("the connection given up says %q, %v", got, err)
		}
		two.say("K#7 1152921504606846977 0.25 k", "A#1 0.01 try k", "R#8 5 k")
		two.hears("K#7 1152921504606846977 k", "A#1 1152921504606846977 k", "E#8 R taken k", "A#6 1152921504606846978 k")
		two.say("R#9 1152921504606846978 k", "R#10 1152921504606846978 k")
		two.hears("R#9 1152921504606846978 k", "E#10 R not-held k")
		standby := w.speaker(nodeB)
		standby.say("H anna............ 3", "A#11 30 0 k")
		standby.hears("H lock/1 standby a.test:7301", "M#11 a.test:7301 A k")
		for _, s := range []*speaker{one, two, standby} {
			_ = s.sock.Close()
		}
	})
}

func TestTheScriptedServerKeepsAPlaceForTheGrace(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.hold("k", time.Minute)
		one, two := w.speaker(nodeA), w.speaker(nodeA)
		one.say("H anna............ 1", "A#1 30 0 k")
		synctest.Wait()
		two.say("H berta........... 1", "A#1 30 0 k")
		synctest.Wait()
		_ = one.sock.Close()
		time.Sleep(4 * time.Second)
		back := w.speaker(nodeA)
		back.say("H anna............ 2", "X 1", "A#1 30 0 k")
		synctest.Wait()
		w.let("k")
		back.hears("H", "X 1", "A#1")
		_, _ = back.sock, two.sock.Close()
		time.Sleep(6 * time.Second)
		if _, waiters := w.holder("k"); waiters != 0 {
			t.Errorf("%d wait after the grace", waiters)
		}
		_ = back.sock.Close()
		w.let("k")
	})
}

func TestTheNetworkInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLink(nodeA, 0)
		l.up.trouble = trouble{cutAt: 4, delay: time.Second, atMost: 2}
		start := time.Now()
		_, _ = l.client.Write([]byte("abcdef"))
		got, err := io.ReadAll(l.server)
		if string(got) != "abc" || !errors.Is(err, syscall.ECONNRESET) || time.Since(start) != time.Second {
			t.Errorf("read %q, %v after %s", got, err, time.Since(start))
		}
		hole := newLink(nodeA, 1)
		hole.vanish()
		_ = hole.client.SetReadDeadline(time.Now().Add(time.Second))
		_, writeErr := hole.client.Write([]byte("a"))
		_ = hole.server.Close()
		if _, err := hole.client.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) || writeErr != nil {
			t.Errorf("a black hole answers %v, %v", err, writeErr)
		}
		_ = hole.client.Close()
		if _, err := hole.client.Read(got); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a closed end answers %v", err)
		}
	})
}

func TestTheHistoryNoticesBreaches(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"a number twice":    {"H anna............ 1"},
		"a tag twice":       {"H anna............ 2", "Q#1 k", "Q#1 k"},
		"a stranger's":      {"H anna............ 3", "A#2 30 0 k", "R#3 5 k"},
		"a repeat, no X":    {"H anna............ 4", "A#1 30 0 k"},
		"silence":           {"H anna............ 5", "", "P"},
		"not the protocol":  {"hello"},
		"an acquire no tag": {"A 1 0 k"},
	} {
		breaches := &recorder{TB: t}
		play(t, []string{nodeA, nodeB}, func(t *testing.T, w *world) {
			first := w.speaker(nodeA)
			first.say("H anna............ 1", "A#1 30 0 k")
			synctest.Wait()
			_ = first.sock.Close()
			w.history.tb = breaches
			s := w.speaker(nodeB)
			for _, line := range lines {
				if line == "" {
					time.Sleep(11 * time.Second)
					continue
				}
				s.say(line)
			}
			synctest.Wait()
			_ = s.sock.Close()
			w.leaves = true
		})
		if breaches.errors == 0 {
			t.Errorf("%s: nothing was noticed", name)
		}
	}
}

// recorder counts errors instead of failing.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Errorf(string, ...any) { r.errors++ }
