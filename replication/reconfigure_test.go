package replication

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestReconfiguringUnderLoadRefusesAndLosesNothing changes every option, again
// and again, while clients are at work within all of them.
func TestReconfiguringUnderLoadRefusesAndLosesNothing(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	var working sync.WaitGroup
	done := make(chan struct{})
	for i := range 8 {
		c := h.phone()
		working.Go(func() { workUntil(c, done, fmt.Sprintf("key/%d", i%4)) })
	}
	for i := range 300 {
		h.options.MaxLease = time.Duration(31+i%2) * time.Second
		h.options.MaxKeys = 100 + i%2
		h.options.MaxWaitersPerKey = 10 + i%2
		h.options.MaxConnections = 100 + i%2
		h.options.MaxKeyBytes = 10 + i%2
		h.options.MaxOutbox = LeastMaxOutbox + i%2
		h.options.ReconnectGrace = time.Duration(i%2) * time.Second
		h.node.Reconfigure(h.env())
	}
	close(done)
	working.Wait()
	if !h.isEmpty() {
		t.Error("something is left when all work is done")
	}
	h.check()
}

// workUntil acquires and releases one key that others want too.
func workUntil(c *phone, done <-chan struct{}, key string) {
	for {
		select {
		case <-done:
			return
		default:
		}
		granted := c.ask("A 30 0 " + key)
		released := c.ask("R " + tokenOf(c.tb, granted) + " " + key)
		if c.tb.Failed() || !strings.HasPrefix(released, "R ") {
			c.tb.Errorf("acquired with %q, released with %q", granted, released)
			return
		}
	}
}
