package caddymodule

import (
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// flood opens connections that say nothing, as fast as it can, and returns them.
// It gives up when they are not accepted any more.
func flood(addr string, most int) []net.Conn {
	const parallel = 64
	opened := make(chan net.Conn, most)
	var opening sync.WaitGroup
	for range parallel {
		opening.Go(func() {
			for range most / parallel {
				conn, err := net.DialTimeout("tcp", addr, time.Second)
				if err != nil {
					return
				}
				opened <- conn
			}
		})
	}
	opening.Wait()
	close(opened)
	var conns []net.Conn
	for conn := range opened {
		conns = append(conns, conn)
	}
	return conns
}

// fewDescriptors are fewer than the flood wants, and enough for the gate to see a
// burst before they are used up.
const fewDescriptors = 8192

func skipInShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a flood takes seconds")
	}
}

func closeAll(conns []net.Conn) {
	for _, conn := range conns {
		_ = conn.Close()
	}
}

func TestProcessAnswersAfterAFloodBeyondItsDescriptors(t *testing.T) {
	skipInShort(t)
	for name, route := range map[string]string{"guarded": "lock_guard\nlock", "lock alone": "lock"} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.descriptors = fewDescriptors
			p := h.serve(`{
	admin off
	layer4 {
		` + h.addr + ` {
			route {
				` + route + `
			}
		}
	}
}`)
			holder := speak(t, h.addr)
			token := holder.acquire("k", "3600")
			closeAll(flood(h.addr, 10_000))
			p.wantAnswers()
			holder.wantHeld("k", token)
		})
	}
}

func TestProcessLetsClientsInAmongAFloodOfSilentOnes(t *testing.T) {
	skipInShort(t)
	h := newHome(t)
	h.descriptors = fewDescriptors
	config := configFile(t, "testdata/tls-internal.caddyfile", ":7301", h.addr, ":7443", portOf(freeAddr(t)))
	h.start(strings.Replace(config, "{\n", "{\n\tadmin off\n", 1))
	trusted := &tls.Config{RootCAs: internalCA(t, h.dir), ServerName: serverName}
	holder := speakTLS(t, h.addr, trusted)
	token := holder.acquire("k", "3600")

	conns := flood(h.addr, 10_000)
	defer closeAll(conns)
	another := speakTLS(t, h.addr, trusted)
	another.wantHeld("k", token)
	holder.release("k", token)
}
