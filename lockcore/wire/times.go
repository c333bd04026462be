package wire

import (
	"math"
	"strconv"
	"time"
)

// invalid is what a field that is no time parses to: less than any time.
const invalid time.Duration = -1

// maxTime is the longest time that can be written, and read into a Duration.
const maxTime = math.MaxInt64 / time.Millisecond * time.Millisecond

// parseTime reads decimal seconds with at most three decimals, digits on both
// sides of the point.
func parseTime(field []byte) time.Duration {
	seconds, i := time.Duration(0), 0
	for ; i < len(field) && isDigit(field[i]); i++ {
		seconds = seconds*10 + time.Duration(field[i]-'0')
		if seconds > maxTime/time.Second {
			return invalid
		}
	}
	if i == 0 {
		return invalid
	}
	whole := seconds * time.Second
	if i == len(field) {
		return whole
	}
	part := parseDecimals(field[i:])
	if part == invalid || part > maxTime-whole {
		return invalid
	}
	return whole + part
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
// trailing zeros. What is longer than maxTime is cut to it.
func appendTime(dst []byte, d time.Duration) []byte {
	const milli = uint64(time.Millisecond)
	millis := (uint64(min(max(d, 0), maxTime)) + milli - 1) / milli
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
