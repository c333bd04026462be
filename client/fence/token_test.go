package fence

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestParseTokenReadsDecimalsFromOneToTheGreatest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"1":                   1,
		"10":                  10,
		"1928545113132236801": 1928545113132236801,
		"9223372036854775807": MaxToken,
	} {
		if got, err := ParseToken(text); got != want || err != nil {
			t.Errorf("ParseToken(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseTokenRefusesWhatNoLockHas(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "0", "00", "01", "+1", "-1", "-0", " 1", "1 ", "1\n", "1.0", "1e3", "0x1", "1_000", "1,2", "abc", "\u0661",
		"9223372036854775808", "18446744073709551615", "18446744073709551616", strings.Repeat("9", 400),
	} {
		if got, err := ParseToken(text); got != 0 || !errors.Is(err, ErrBadToken) {
			t.Errorf("ParseToken(%q) = %d, %v; want ErrBadToken", text, got, err)
		}
	}
}

func TestStaleErrorMatchesErrStaleOnly(t *testing.T) {
	t.Parallel()
	var err error = &StaleError{Resource: "orders/42", Token: 33, Greatest: 34}
	if !errors.Is(err, ErrStale) || errors.Is(err, ErrBadToken) {
		t.Errorf("%v matches the wrong errors", err)
	}
	if want := `stale fencing token 33 for "orders/42": it has seen 34`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// FuzzParseToken proves that a text is a token exactly if it is how that token is
// written.
func FuzzParseToken(f *testing.F) {
	for _, text := range []string{"1", "0", "01", "+7", "9223372036854775807", "9223372036854775808", "1_0", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			if !errors.Is(err, ErrBadToken) || token != 0 {
				t.Fatalf("ParseToken(%q) = %d, %v", text, token, err)
			}
			if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && strconv.FormatInt(n, 10) == text {
				t.Fatalf("ParseToken(%q) refuses a token", text)
			}
			return
		}
		if token == 0 || token > math.MaxInt64 || strconv.FormatUint(token, 10) != text {
			t.Fatalf("ParseToken(%q) = %d", text, token)
		}
	})
}
