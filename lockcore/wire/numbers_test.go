package wire

import (
	"math"
	"strings"
	"testing"
)

// places are where an integer stands in a request.
var places = []struct {
	before, after string
	read          func(Request) uint64
	zero          bool // 0 is allowed
}{
	{"H#", " " + client + " 1", tagOf, false},
	{"X#", " 1", tagOf, false},
	{"A#", " 30 0 k", tagOf, false},
	{"R#", " 17 k", tagOf, false},
	{"K#", " 17 30 k", tagOf, false},
	{"C#", " 17 k", tagOf, false},
	{"Q#", " k", tagOf, false},
	{"P#", "", tagOf, false},
	{"X ", "", numberOf, false},
	{"X#1 ", "", numberOf, false},
	{"H " + client + " ", "", numberOf, false},
	{"C ", " k", func(r Request) uint64 { return r.Target }, false},
	{"C#1 ", " k", func(r Request) uint64 { return r.Target }, false},
	{"R ", " k", tokenOf, true},
	{"R#1 ", " k", tokenOf, true},
	{"K ", " 30 k", tokenOf, true},
	{"K#1 ", " 0.5 k", tokenOf, true},
}

func tagOf(r Request) uint64    { return r.Tag }
func numberOf(r Request) uint64 { return r.N }
func tokenOf(r Request) uint64  { return r.Token }

func TestAnIntegerIsReadUpTo18446744073709551615(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"1": 1, "9": 9, "10": 10, "17": 17, "9007199254740993": 1<<53 + 1,
		"9223372036854775807": 1<<63 - 1, "9223372036854775808": 1 << 63,
		"9999999999999999999": 9999999999999999999, "10000000000000000000": 10000000000000000000,
		"18446744073709551609": math.MaxUint64 - 6, "18446744073709551610": math.MaxUint64 - 5, maxUint: math.MaxUint64,
	} {
		for _, place := range places {
			if got := place.read(mustRead(t, place.before+text+place.after)); got != want {
				t.Errorf("%s%s%s: %d", place.before, text, place.after, got)
			}
		}
	}
}

func TestOnlyATokenMayBe0(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		var r Request
		err := ParseRequest([]byte(place.before+"0"+place.after), &r)
		_, malformed := err.(Malformed)
		if place.zero && err != nil || !place.zero && !malformed || place.zero && r.Token != 0 {
			t.Errorf("%s0%s: %v", place.before, place.after, err)
		}
	}
}

func TestAnIntegerHasOneSpelling(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "00", "01", "007", "000000000000000000001", overUint, "18446744073709551620", "18446744073709551625",
		"20000000000000000000", "28446744073709551615", "36893488147419103233", "99999999999999999999",
		"100000000000000000000", "184467440737095516150", "340282366920938463463374607431768211457",
		strings.Repeat("9", 3000), strings.Repeat("0", 3000) + "1", "-1", "-0", "+1", "1e3", "0x10", "1_000", "1,000", "1.0", "1.",
		".5", "#1", "one", "try", "1a", "a1", "1\x00", "\x001", "\u0661", "1\t",
	} {
		for _, place := range places {
			var r Request
			err := ParseRequest([]byte(place.before+text+place.after), &r)
			if _, malformed := err.(Malformed); !malformed {
				t.Errorf("%s%s%s: %v", place.before, clip(text), place.after, err)
			}
		}
	}
}
