package wire

import "bytes"

// Recognize says whether the first bytes of a connection are this protocol's: a
// request, or PEER, the beginning of a link between nodes. As long as certain is
// false, more bytes are needed to tell; 24 always suffice, usually three do.
//
// TLS starts with a byte that is no op; the methods of HTTP, and the words that
// other protocols begin with, have a second letter where an op has a space, a #
// or the end of the line. So one port can serve them and locks. A match does not
// mean that the whole line can be read.
func Recognize(prefix []byte) (match, certain bool) {
	v := recognize(prefix)
	return v == yes, v != unsure
}

// verdict is what can be told so far.
type verdict byte

const (
	unsure verdict = iota
	no
	yes
)

func recognize(prefix []byte) verdict {
	switch {
	case len(prefix) == 0:
		return unsure
	case !isOp(prefix[0]):
		return no
	case len(prefix) == 1:
		return unsure
	case prefix[1] == '#':
		return recognizeTag(Op(prefix[0]), prefix[2:])
	case prefix[1] == PeerPrefix[1]:
		return recognizeWord(prefix, PeerPrefix)
	default:
		return recognizeRest(Op(prefix[0]), prefix[1:])
	}
}

// recognizeTag looks at the digits and at what follows them.
func recognizeTag(op Op, rest []byte) verdict {
	digits := 0
	for digits < len(rest) && isDigit(rest[digits]) {
		digits++
	}
	switch {
	case digits > maxDigits, digits > 0 && rest[0] == '0':
		return no
	case digits == len(rest):
		return unsure
	case digits == 0:
		return no
	default:
		return recognizeRest(op, rest[digits:])
	}
}

// recognizeRest looks at what follows the op and its tag, at least one byte.
func recognizeRest(op Op, rest []byte) verdict {
	switch {
	case op == OpPing:
		return recognizeEnd(rest)
	case rest[0] != ' ':
		return no
	case op == OpQuery: // anything can be a key
		return yes
	case len(rest) == 1:
		return unsure
	case isDigit(rest[1]), op == OpHello && isClientByte(rest[1]):
		return yes
	default:
		return no
	}
}

func recognizeEnd(rest []byte) verdict {
	if rest[0] == '\n' {
		return yes
	}
	return recognizeWord(rest, "\r\n")
}

// recognizeWord compares with the only word that may stand here.
func recognizeWord(seen []byte, word string) verdict {
	switch {
	case bytes.HasPrefix(seen, []byte(word)):
		return yes
	case len(seen) < len(word) && string(seen) == word[:len(seen)]:
		return unsure
	default:
		return no
	}
}
