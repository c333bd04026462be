package wire

import (
	"math"
	"strconv"
	"time"
)

// invalid is what a field that is no time parses to: less than any time.
const invalid time.Duration = -1

// parseTime reads decimal seconds with at most three decimals, digits on both
// sides of the point.
func parseTime(field []byte) time.Duration {
	const mostSeconds = math.MaxInt64/uint64(time.Second) - 1
	seconds, i := uint64(0), 0
	for ; i < len(field) && isDigit(field[i]); i++ {
		seconds = seconds*10 + uint64(field[i]-'0')
		if seconds > mostSeconds {
			return invalid
		}
	}
	if i == 0 {
		return invalid
	}
	whole := time.Duration(seconds) * time.Second
	if i == len(field) {
		return whole
	}
	if part := parseDecimals(field[i:]); part >= 0 {
		return whole + part
	}
	return invalid
}

// parseDecimals reads the point and one to three digits.
func parseDecimals(field []byte) time.Duration {
	if field[0] != '.' || len(field) < 2 || len(field) > 4 {
		return invalid
	}
	part, unit := time.Duration(0), 100*time.Millisecond
	for _, b := range field[1:] {
		if !isDigit(b) {
			return invalid
		}
		part += time.Duration(b-'0') * unit
		unit /= 10
	}
	return part
}

// parseWait reads try, 0, or a time. Only the very word 0 is without limit: a
// remainder that was rounded down to 0.000 must not wait for ever.
func parseWait(field []byte) time.Duration {
	switch string(field) {
	case "try":
		return Try
	case "0":
		return Forever
	}
	wait := parseTime(field)
	if wait <= 0 || wait > MaxWait {
		return invalid
	}
	return wait
}

// appendWait appends a wait. What is longer than the longest wait that ends is
// cut to it.
func appendWait(dst []byte, wait time.Duration) []byte {
	switch {
	case wait == Forever:
		return append(dst, '0')
	case wait <= 0:
		return append(dst, "try"...)
	default:
		return appendTime(dst, min(wait, MaxWait))
	}
}

// appendTime appends decimal seconds, rounded up to the millisecond, without
// trailing zeros.
func appendTime(dst []byte, d time.Duration) []byte {
	millis := uint64(max(0, d)) / uint64(time.Millisecond)
	if uint64(max(0, d))%uint64(time.Millisecond) > 0 {
		millis++
	}
	dst = strconv.AppendUint(dst, millis/1000, 10)
	part := millis % 1000
	if part == 0 {
		return dst
	}
	dst = append(dst, '.', byte('0'+part/100))
	if part%100 != 0 {
		dst = append(dst, byte('0'+part/10%10))
	}
	if part%10 != 0 {
		dst = append(dst, byte('0'+part%10))
	}
	return dst
}
