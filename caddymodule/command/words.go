package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// maxTokenLine is more than the longest token takes.
const maxTokenLine = 128

// checkKey refuses what no server can take for a key.
func checkKey(key string) error {
	switch {
	case key == "":
		return usage("the key is empty")
	case len(key) > wire.MaxKey:
		return usage("the key is %d bytes long; %d are the most", len(key), wire.MaxKey)
	case strings.ContainsAny(key, "\x00\r\n"):
		return usage("the key %q has a NUL, a CR or an LF in it", key)
	}
	return nil
}

// keyAndToken reads the arguments KEY TOKEN. A token - is read from standard input.
func (s *system) keyAndToken(args []string) (key string, token uint64, err error) {
	if len(args) != 2 {
		return "", 0, usage("expected a key and a token, not %d arguments", len(args))
	}
	if err := checkKey(args[0]); err != nil {
		return "", 0, err
	}
	word := args[1]
	if word == "-" {
		if word, err = s.readToken(); err != nil {
			return "", 0, err
		}
	}
	token, err = parseToken(word)
	return args[0], token, err
}

func (s *system) readToken() (string, error) {
	line, err := bufio.NewReader(io.LimitReader(s.stdin, maxTokenLine)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the token from standard input: %w", err)
	}
	return strings.TrimSpace(line), nil
}

func parseToken(word string) (uint64, error) {
	token, err := strconv.ParseUint(word, 10, 64)
	if err != nil || token == 0 || word[0] == '+' {
		return 0, usage("%q is no token: expected the number that acquire printed", word)
	}
	return token, nil
}

// field makes a key one field of a line: as it is, or quoted, with \x20 for a
// space, if anything in it could be taken for something else.
func field(key string) string {
	quoted := strconv.Quote(key)
	if quoted == `"`+key+`"` && !strings.Contains(key, " ") {
		return key
	}
	return strings.ReplaceAll(quoted, " ", `\x20`)
}
