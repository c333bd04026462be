package wire

// scanner reads the fields of a line from the left. It allocates nothing: what
// it returns aliases the line.
type scanner struct {
	rest []byte
	// spaced: the field read last ended in a space, so another one follows.
	spaced bool
}

// scan starts to read a line, without the CR that may stand before its LF.
func scan(line []byte) scanner {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return scanner{rest: line}
}

// head reads the first letter, which the caller has looked at, and the tag: 0 for
// none. wrong is "" or what was expected.
func (s *scanner) head() (tag uint64, wrong Malformed) {
	s.rest = s.rest[1:]
	switch {
	case len(s.rest) == 0:
		return 0, ""
	case s.rest[0] == ' ':
		s.rest, s.spaced = s.rest[1:], true
		return 0, ""
	case s.rest[0] != '#':
		return 0, wantOp
	}
	s.rest = s.rest[1:]
	tag, ok := s.number()
	if !ok || tag == 0 {
		return 0, wantTag
	}
	return tag, ""
}

// field reads up to the next space; ok if there was something to read, and a
// space that ends it.
func (s *scanner) field() (field []byte, ok bool) {
	if !s.spaced {
		return nil, false
	}
	// Fields are a few bytes long: a loop beats a call of bytes.IndexByte.
	for end, b := range s.rest {
		if b == ' ' {
			field, s.rest = s.rest[:end], s.rest[end+1:]
			return field, end > 0
		}
	}
	field, s.rest, s.spaced = s.rest, nil, false
	return field, false
}

// spacedNumber reads a number that follows a space.
func (s *scanner) spacedNumber() (v uint64, ok bool) {
	if !s.spaced {
		return 0, false
	}
	return s.number()
}

// lastNumber reads a number that ends the line.
func (s *scanner) lastNumber() (v uint64, ok bool) {
	v, ok = s.spacedNumber()
	return v, ok && !s.spaced
}

// maxDigits is the length of the greatest number, 2^64-1.
const maxDigits = 20

// number reads a decimal without leading zeros that fits 64 bits, and the space
// behind it, if any.
func (s *scanner) number() (v uint64, ok bool) {
	i := 0
	for ; i < len(s.rest) && i <= maxDigits && isDigit(s.rest[i]); i++ {
		digit := uint64(s.rest[i] - '0')
		next := v*10 + digit
		if i == maxDigits-1 && (v > (1<<64-1)/10 || next < digit) {
			return 0, false
		}
		v = next
	}
	if i == 0 || i > maxDigits || i > 1 && s.rest[0] == '0' {
		return 0, false
	}
	return v, s.endNumber(i)
}

// endNumber steps over a number of n digits and the space behind it. Anything
// else there means that it was no number.
func (s *scanner) endNumber(n int) bool {
	s.spaced = n < len(s.rest)
	if !s.spaced {
		s.rest = nil
		return true
	}
	if s.rest[n] != ' ' {
		return false
	}
	s.rest = s.rest[n+1:]
	return true
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
