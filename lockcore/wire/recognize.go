package wire

import "bytes"

// Recognize says whether the first bytes of a connection are this protocol's: a
// request, or the beginning of a link between nodes. As long as certain is
// false, more bytes are needed to tell.
//
// TLS starts with another byte, and methods of HTTP with two letters, so one
// port can serve them and locks.
func Recognize(prefix []byte) (match, certain bool) {
	if len(prefix) == 0 {
		return false, false
	}
	if !isOp(prefix[0]) {
		return false, true
	}
	if peer := min(len(prefix), len(PeerPrefix)); peer > 1 && string(prefix[:peer]) == PeerPrefix[:peer] {
		return peer == len(PeerPrefix), peer == len(PeerPrefix)
	}
	op, rest := Op(prefix[0]), prefix[1:]
	rest, certain = skipTag(rest)
	if len(rest) == 0 {
		return false, certain
	}
	if op == OpPing {
		return recognizeEnd(rest)
	}
	if rest[0] != ' ' {
		return false, true
	}
	return recognizeField(op, rest[1:])
}

// skipTag skips # and digits. An empty rest is what it is because more bytes are
// needed, or, if certain, because this is no tag.
func skipTag(rest []byte) (after []byte, certain bool) {
	if len(rest) == 0 || rest[0] != '#' {
		return rest, false
	}
	const mostDigits = 20
	digits := 1
	for digits < len(rest) && isDigit(rest[digits]) {
		digits++
	}
	if digits > mostDigits+1 || digits < len(rest) && digits == 1 {
		return nil, true
	}
	return rest[digits:], false
}

// recognizeEnd looks for the end of a line.
func recognizeEnd(rest []byte) (match, certain bool) {
	end := []byte("\r\n")
	if rest[0] == '\n' || bytes.HasPrefix(rest, end) {
		return true, true
	}
	return false, !bytes.HasPrefix(end, rest)
}

// recognizeField looks at the first byte of the first field.
func recognizeField(op Op, field []byte) (match, certain bool) {
	switch {
	case len(field) == 0:
		return false, false
	case op == OpQuery:
		return true, true
	case op == OpHello:
		return recognizeHello(field)
	default:
		return isDigit(field[0]), true
	}
}

// recognizeHello wants as much of a client id as no other protocol has there.
func recognizeHello(field []byte) (match, certain bool) {
	if len(field) < MinClientID {
		return false, bytes.IndexAny(field, " /:\r\n") >= 0
	}
	return isClientID(field[:MinClientID]), true
}
