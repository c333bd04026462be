package wire

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The twin reads requests by the words of PROTOCOL.md: with regular expressions,
// splitting and big numbers, slowly. It shares no code with the parser, so that
// the two have to make the same mistake for it to go unseen.

var (
	twinHead   = regexp.MustCompile(`(?s)^([HXARKCQP])(?:#([^ ]*))?(?: (.*))?$`)
	twinNumber = regexp.MustCompile(`^(?:0|[1-9][0-9]*)$`)
	twinTime   = regexp.MustCompile(`^[0-9]+(?:\.[0-9]{1,3})?$`)
	twinClient = regexp.MustCompile(`^[A-Za-z0-9._-]{16,64}$`)
)

// twinFields is how many fields each op has, the key included.
var twinFields = map[Op]int{
	OpHello: 2, OpGiveUp: 1, OpAcquire: 3, OpRelease: 2, OpKeep: 3, OpCancel: 2, OpQuery: 1, OpPing: 0,
}

// twinMalformed stands for every text.
const twinMalformed Malformed = "malformed"

// twinParse reads a line without its LF.
func twinParse(line string) (r Request, err error) {
	line = strings.TrimSuffix(line, "\r")
	m := twinHead.FindStringSubmatchIndex(line)
	if m == nil {
		return r, twinMalformed
	}
	r.Op = Op(line[0])
	ok := true
	if m[4] >= 0 {
		r.Tag, ok = twinPositive(line[m[4]:m[5]])
	}
	var fields []string
	if m[6] >= 0 {
		fields = strings.SplitN(line[m[6]:m[7]], " ", max(1, twinFields[r.Op]))
	}
	if !ok || len(fields) != twinFields[r.Op] {
		return r, twinMalformed
	}
	return twinRead(r, fields)
}

func twinRead(r Request, fields []string) (Request, error) {
	ok, lease, wait := true, "1", "1"
	switch r.Op {
	case OpHello:
		r.Client = []byte(fields[0])
		r.N, ok = twinPositive(fields[1])
		ok = ok && twinClient.MatchString(fields[0])
	case OpGiveUp:
		r.N, ok = twinPositive(fields[0])
	case OpAcquire:
		lease, wait = fields[0], fields[1]
	case OpRelease:
		r.Token, ok = twinUint(fields[0])
	case OpKeep:
		r.Token, ok = twinUint(fields[0])
		lease = fields[1]
	case OpCancel:
		r.Target, ok = twinPositive(fields[0])
	}
	if !ok || lease == "" || wait == "" {
		return r, twinMalformed
	}
	if !r.Op.hasKey() {
		return r, nil
	}
	r.Key = []byte(fields[len(fields)-1])
	return twinRefuse(r, lease, wait)
}

// twinRefuse looks at what a request may be refused for, in the order in which
// faults are reported.
func twinRefuse(r Request, lease, wait string) (Request, error) {
	key := string(r.Key)
	longest := "E#18446744073709551615 C too-many-waiters 18446744073709551615 " + key + "\r\n"
	switch {
	case len(longest) > MaxLine:
		return r, twinMalformed
	case key == "" || len(key) > 1024 || strings.ContainsAny(key, "\x00\r"):
		return r, CodeBadKey
	}
	var ok bool
	least, most := big.NewRat(1, 1000), big.NewRat(math.MaxInt64, 1e9)
	if r.Lease, ok = twinSeconds(lease, least, most); !ok {
		return r, CodeBadLease
	}
	if r.Wait, ok = twinWait(wait); !ok {
		return r, CodeBadWait
	}
	if r.Op != OpAcquire {
		r.Wait = 0
	}
	if r.Op != OpAcquire && r.Op != OpKeep {
		r.Lease = 0
	}
	return r, nil
}

func twinWait(s string) (time.Duration, bool) {
	switch s {
	case "try":
		return 0, true
	case "0":
		return math.MaxInt64, true
	}
	return twinSeconds(s, big.NewRat(1, 1000), big.NewRat(1<<31, 1))
}

func twinSeconds(s string, least, most *big.Rat) (time.Duration, bool) {
	if !twinTime.MatchString(s) {
		return 0, false
	}
	v, _ := new(big.Rat).SetString(s)
	if v.Cmp(least) < 0 || v.Cmp(most) > 0 {
		return 0, false
	}
	nanos := v.Mul(v, big.NewRat(1e9, 1))
	return time.Duration(nanos.Num().Int64()), true
}

func twinUint(s string) (uint64, bool) {
	v, err := strconv.ParseUint(s, 10, 64)
	return v, err == nil && twinNumber.MatchString(s)
}

func twinPositive(s string) (uint64, bool) {
	v, ok := twinUint(s)
	return v, ok && v > 0
}
