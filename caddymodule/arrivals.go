package caddymodule

import (
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/mholt/caddy-l4/layer4"
)

// arrived counts the connections of the process by the address they came to.
var arrived = arrivals{counts: make(map[address]uint64), fresh: make(chan struct{}, 1)}

// address is where a listener can be reached from this machine.
type address struct{ network, addr string }

// arrivals counts connections that came straight from a listener: no byte of
// them was needed to get here. So another connection to the same address, that
// says nothing, gets here too if anybody accepts it.
type arrivals struct {
	mu     sync.Mutex
	counts map[address]uint64
	// fresh has a value in it after an address was seen for the first time.
	fresh chan struct{}
}

// maxAddresses bounds the addresses that are kept. There are as many as the
// machine has addresses times ports that are listened at.
const maxAddresses = 1024

// note counts a connection, if it came straight.
func (a *arrivals) note(cx *layer4.Connection) {
	matched := len(cx.MatchingBytes()) > 0 || cx.GetVar(layer4.TLSConnectionStatesVarName) != nil
	if local := cx.LocalAddr(); !matched && local != nil {
		a.add(local)
	}
}

func (a *arrivals) add(local net.Addr) {
	at := address{local.Network(), local.String()}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.counts[at]; !known {
		if len(a.counts) == maxAddresses {
			return
		}
		signal(a.fresh)
	}
	a.counts[at]++
}

// forget begins anew: listeners have changed.
func (a *arrivals) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.counts)
}

// count returns how many connections came to an address.
func (a *arrivals) count(at address) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[at]
}

// addresses returns where connections came to.
func (a *arrivals) addresses() []address {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.counts))
}

// signal makes c have a value in it.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
