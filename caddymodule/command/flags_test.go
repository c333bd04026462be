package command

import (
	"slices"
	"testing"
	"time"
)

func TestAnAddressWithoutAPortHasTheUsualOne(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"lock1": "lock1:7301", "lock1:99": "lock1:99", "10.0.0.1": "10.0.0.1:7301",
		"[::1]": "[::1]:7301", "[::1]:99": "[::1]:99", "unix//run/lock.sock": "unix//run/lock.sock",
	} {
		if got, err := address(text); got != want || err != nil {
			t.Errorf("%q is %q (%v), not %q", text, got, err, want)
		}
	}
}

func TestAnAddressThatCouldMeanTwoThingsIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", ":7301", "lock1:", "::1", "::1:7301", "[::1", "unix/", "lock1:x", "lock1:0", "lock1:65536"} {
		if got, err := address(text); codeOf(err) != exitUsage {
			t.Errorf("%q is %q (%v)", text, got, err)
		}
	}
}

func TestAddressesAreRepeatedOrListed(t *testing.T) {
	t.Parallel()
	got, err := addresses([]string{"a, b:1", "c"})
	if want := []string{"a:7301", "b:1", "c:7301"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q (%v), not %q", got, err, want)
	}
}

func TestADurationNeedsAUnit(t *testing.T) {
	t.Parallel()
	var value time.Duration
	d := &durationValue{value: &value, least: time.Millisecond, zero: "not 0"}
	for text, want := range map[string]string{
		"10": "it needs a unit: write 10s for seconds", "0": "not 0", "0s": "not 0",
		"-5s": "it must not be negative", "10µs": "it must be at least 1ms",
		"soon": "expected a duration, such as 10s or 1m30s",
	} {
		if err := d.Set(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
	if err := d.Set("1m30s"); err != nil || value != 90*time.Second {
		t.Errorf("1m30s is %s (%v)", value, err)
	}
}

func TestAKeyIsAlwaysOneField(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"orders/42": "orders/42", "größe": "größe", "nightly report": `"nightly\x20report"`,
		`a"b`: `"a\"b"`, `a\b`: `"a\\b"`, "a\tb": `"a\tb"`, "\xff": `"\xff"`,
	} {
		if got := field(key); got != want {
			t.Errorf("%q is written %s, not %s", key, got, want)
		}
	}
}
