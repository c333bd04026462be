package replication

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestALeaseThatExpiresIsLoggedIfSomebodyWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		holder, waiter := h.dial(), h.dial()
		holder.send("H anna............ 1\nA#1 1 0 waited for\nA#2 1 0 lonely\n")
		synctest.Wait()
		waiter.send("A 1 0 waited for\n")
		time.Sleep(time.Second)
		synctest.Wait()
		entries := h.logs.FilterMessage("lease expired while others waited").All()
		if len(entries) != 1 {
			t.Fatalf("%d leases are logged, want 1", len(entries))
		}
		fields := entries[0].ContextMap()
		if fields["key"] != "waited for" || fields["client"] != "anna............" || fields["waiters"] != int64(1) {
			t.Errorf("the log says %v", fields)
		}
	})
}

func TestRequestsAreNotLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startedHost(t)
		before := h.logs.Len()
		c := h.dial()
		c.send(conversation)
		synctest.Wait()
		for _, entry := range h.logs.All()[before:] {
			t.Errorf("logged: %s", entry.Message)
		}
	})
}

func TestALoggerChangedByAReloadIsUsed(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	env := h.env()
	env.Log = zap.NewNop()
	h.node.Reconfigure(env)
	before := h.logs.Len()
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if h.logs.Len() != before {
		t.Error("the end was logged to the logger before the reload")
	}
}

// A client can let leases expire as fast as it can ask for them.
func TestAFloodOfExpiriesIsNoFloodOfLogLines(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	n := NewNode()
	n.setLog(zap.New(core))
	for range 500 {
		n.logExpiry(expiry{key: "k"})
	}
	if got := logs.Len(); got < 1 || got > 2*firstExpiries {
		t.Errorf("500 expiries wrote %d lines", got)
	}
}
