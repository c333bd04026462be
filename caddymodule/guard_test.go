package caddymodule

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// guarded is a configuration with a guard and TLS at an address.
func guarded(t *testing.T, addr, guardOptions string) string {
	t.Helper()
	config := configFile(t, "testdata/tls-internal.caddyfile", ":7301", addr, ":7443", portOf(freeAddr(t)),
		"lock_guard", "lock_guard {\n"+guardOptions+"\n}")
	return strings.Replace(config, "{\n", "{\n\tadmin off\n", 1)
}

// trusting is what a client of it needs.
func trusting(t *testing.T) *tls.Config {
	t.Helper()
	return &tls.Config{RootCAs: internalCA(t, os.Getenv("XDG_DATA_HOME")), ServerName: serverName}
}

func TestTheGuardDropsClientsThatConnectAndStaySilent(t *testing.T) {
	addr := freeAddr(t)
	run(t, guarded(t, addr, "handshake_timeout 200ms"))
	proved := speakTLS(t, addr, trusting(t))
	speak(t, addr).wantClosed()
	proved.expect("P", "P") // it was silent for as long
}

func TestTheGuardDropsClientsThatStopInTheHandshake(t *testing.T) {
	addr := freeAddr(t)
	run(t, guarded(t, addr, "handshake_timeout 200ms"))
	s := speak(t, addr)
	if _, err := s.conn.Write([]byte{22, 3, 1, 1, 0, 1}); err != nil {
		t.Fatal(err)
	}
	s.wantClosed()
}

func TestSilentClientsDoNotShutOthersOut(t *testing.T) {
	addr := freeAddr(t)
	run(t, guarded(t, addr, "handshake_timeout 10m\nmax_connections 8"))
	config := trusting(t)
	holder := speakTLS(t, addr, config)
	token := holder.acquire("k", "60")
	for range 40 {
		speak(t, addr)
	}
	wantLocks(speakTLS(t, addr, config))
	holder.wantHeld("k", token)
}

func TestTheGuardKeepsToItsMostConnections(t *testing.T) {
	addr := freeAddr(t)
	run(t, guarded(t, addr, "max_connections 3"))
	config := trusting(t)
	var in []*speaker
	for range 3 {
		in = append(in, speakTLS(t, addr, config))
	}
	if conn, err := dialTLS(addr, config); err == nil {
		_ = conn.Close()
		t.Error("a fourth connection is let in")
	}
	for _, s := range in {
		s.expect("P", "P")
	}
	_ = in[0].conn.Close()
	speakTLS(t, addr, config).expect("P", "P")
}

func TestTheServersLastWordArrivesBeforeTheEnd(t *testing.T) {
	plainAddr, tlsAddr := freeAddr(t), freeAddr(t)
	config := guarded(t, tlsAddr, "")
	run(t, strings.Replace(config, "layer4 {", "layer4 {\n"+plainAddr+" {\nroute {\nlock\n}\n}\n", 1))
	for how, s := range map[string]*speaker{
		"in the clear": speak(t, plainAddr),
		"with TLS":     speakTLS(t, tlsAddr, trusting(t)),
	} {
		if got := s.ask("what?"); !strings.HasPrefix(got, "E malformed ") {
			t.Errorf("%s, nonsense is answered by %q", how, got)
		}
		if _, err := s.next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s, the connection ends with %v, want it to be closed in good order", how, err)
		}
	}
}

// closeCounter is a connection that counts how often it is closed.
type closeCounter struct {
	net.Conn
	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return nil
}

func TestTheGateKeepsItsLimits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		if err := gateHistory(rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// gateHistory lets connections come, be proved, and go at random.
func gateHistory(r *rand.Rand) error {
	limit := 1 + r.IntN(9)
	g := new(gate)
	var in []*slot
	for range 200 {
		switch i := r.IntN(max(1, len(in))); r.IntN(4) {
		case 0:
			if s := g.enterProved(&closeCounter{}, limit); s != nil {
				in = append(in, s)
			}
		case 1:
			if s := g.enter(&closeCounter{}, limit); s != nil {
				in = append(in, s)
				if s.conn.(*closeCounter).closed != 0 {
					return errors.New("a connection is turned out as it comes")
				}
			}
		case 2:
			if len(in) > 0 {
				in[i].prove()
			}
		case 3:
			if len(in) > 0 {
				in[i].leave()
				in = append(in[:i], in[i+1:]...)
			}
		}
		if err := checkGate(g, in, limit); err != nil {
			return err
		}
	}
	return nil
}

func checkGate(g *gate, in []*slot, limit int) error {
	pending := 0
	for _, s := range in {
		if s.place != nil {
			pending++
		}
		if closed := s.conn.(*closeCounter).closed; closed > 1 || closed == 1 && s.place != nil {
			return fmt.Errorf("a connection was turned out %d times", closed)
		}
	}
	switch {
	case g.open != len(in) || g.pending.Len() != pending:
		return fmt.Errorf("the gate counts %d and %d pending, there are %d and %d", g.open, g.pending.Len(), len(in), pending)
	case g.open > limit:
		return fmt.Errorf("%d are in, the limit is %d", g.open, limit)
	case pending > max(1, limit/2):
		return fmt.Errorf("%d are pending, the limit is %d", pending, limit)
	}
	return nil
}

func TestTheOldestPendingConnectionMakesRoom(t *testing.T) {
	t.Parallel()
	g := new(gate)
	var conns []*closeCounter
	for range 4 {
		conns = append(conns, &closeCounter{})
		g.enter(conns[len(conns)-1], 6)
	}
	for i, want := range []int{1, 0, 0, 0} {
		if conns[i].closed != want {
			t.Errorf("connection %d was closed %d times, want %d", i, conns[i].closed, want)
		}
	}
}

func TestWhatClientsCauseIsNotLoggedForEachOfThem(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	log := quiet(zap.New(core))
	for range 1000 {
		log.Warn("dropped")
	}
	if n := logs.Len(); n != 1 {
		t.Errorf("a thousand warnings make %d lines, want 1", n)
	}
}
