package replication

import (
	"strings"
	"testing"
	"time"
)

func TestTheDefaultOptionsAreValid(t *testing.T) {
	t.Parallel()
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

func TestAnOptionOutOfItsRangeIsRefusedWithWhatToWrite(t *testing.T) {
	t.Parallel()
	for option, wants := range map[string]string{
		"max_keys 0":             "max_keys is 0; write a number from 1 to",
		"max_keys -1":            "max_keys is -1;",
		"max_keys 2147483648":    "to 2147483647",
		"max_waiters_per_key 0":  "max_waiters_per_key is 0;",
		"max_connections 0":      "max_connections is 0;",
		"max_key_bytes 0":        "max_key_bytes is 0;",
		"max_key_bytes 1025":     "from 1 to 1024",
		"max_outbox 65535":       "from 65536 to",
		"max_lease 999us":        "max_lease is 999µs; write a duration from 1ms to",
		"max_lease 876001h":      "max_lease is 876001h0m0s;",
		"reconnect_grace -1s":    "reconnect_grace is -1s;",
		"reconnect_grace 1h1ns":  "from 0s to 1h0m0s",
		"client_timeout 999ms":   "client_timeout is 999ms;",
		"client_timeout 25h":     "to 24h0m0s",
		"failure_timeout 9ms":    "failure_timeout is 9ms;",
		"failure_timeout 1h0m1s": "to 1h0m0s",
	} {
		o := DefaultOptions()
		name, value, _ := strings.Cut(option, " ")
		if !setOption(&o, name, value) {
			t.Errorf("%s cannot be set", option)
		}
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s: %v, want %q in it", option, err, wants)
		}
	}
}

func TestTheEndsOfTheRangesAreValid(t *testing.T) {
	t.Parallel()
	for _, option := range []string{
		"max_keys 1", "max_waiters_per_key 1", "max_connections 1", "max_key_bytes 1", "max_key_bytes 1024",
		"max_outbox 65536", "max_lease 1ms", "max_lease 876000h", "reconnect_grace 0s", "reconnect_grace 1h",
		"client_timeout 1s", "client_timeout 24h", "failure_timeout 10ms", "failure_timeout 1h",
	} {
		o := DefaultOptions()
		name, value, _ := strings.Cut(option, " ")
		if !setOption(&o, name, value) {
			t.Errorf("%s cannot be set", option)
		}
		if err := o.Validate(); err != nil {
			t.Errorf("%s: %v", option, err)
		}
	}
}

func TestTheFloorOfALeaseIsNeverMoreThanTheLease(t *testing.T) {
	t.Parallel()
	o := Options{FailureTimeout: 2 * time.Second}
	for lease, want := range map[time.Duration]time.Duration{
		time.Millisecond: time.Millisecond, 4 * time.Second: 4 * time.Second, time.Hour: 4 * time.Second,
	} {
		if got := o.leaseFloor(lease); got != want {
			t.Errorf("the floor of %s is %s, want %s", lease, got, want)
		}
	}
}
