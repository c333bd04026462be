package client

import (
	"bytes"
	"errors"
	"io"
	"net"

	"github.com/caddylock/caddylock/lockcore/wire"
)

var errLongLine = errors.New("the server sent a line longer than the protocol's 4096 bytes")

// lines reads lines out of a connection. What it returns is valid until the next
// fill.
type lines struct {
	from       net.Conn
	buf        []byte
	start, end int
}

func newLines(from net.Conn) lines { return lines{from: from, buf: make([]byte, 8*wire.MaxLine)} }

// next returns the next line that is there in full, without its LF.
func (l *lines) next() (line []byte, ok bool) {
	i := bytes.IndexByte(l.buf[l.start:l.end], '\n')
	if i < 0 {
		return nil, false
	}
	line = l.buf[l.start : l.start+i]
	l.start += i + 1
	return line, true
}

// fill waits for more bytes.
func (l *lines) fill() error {
	l.end = copy(l.buf, l.buf[l.start:l.end])
	l.start = 0
	if l.end >= wire.MaxLine {
		return errLongLine
	}
	n, err := l.from.Read(l.buf[l.end:])
	l.end += n
	switch {
	case n > 0:
		return nil
	case errors.Is(err, io.EOF):
		return errHungUp
	default:
		return err
	}
}

var errHungUp = errors.New("the server closed the connection")
