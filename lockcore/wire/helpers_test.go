package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Numbers and keys that the tests share.
const (
	maxUint  = "18446744073709551615"
	overUint = "18446744073709551616"
	token    = 1928545113132236801
	client   = "7Qe2mVtKx0Yp4LrWc9sNda"
)

func keyOf(n int) string { return strings.Repeat("k", n) }

// equal compares field by field; a slice that is nil is one that is empty.
func equal[T Request | Reply](a, b T) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		p, isBytes := x.Field(i).Interface().([]byte)
		if isBytes && !bytes.Equal(p, y.Field(i).Bytes()) {
			return false
		}
		if !isBytes && x.Field(i).Interface() != y.Field(i).Interface() {
			return false
		}
	}
	return true
}

// show prints what is not zero, bytes as text.
func show[T Request | Reply](r T) string {
	var b strings.Builder
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			verb := "%v"
			if f.Kind() == reflect.Slice || f.Kind() == reflect.Uint8 {
				verb = "%.80q"
			}
			fmt.Fprintf(&b, " %s:"+verb, v.Type().Field(i).Name, f.Interface())
		}
	}
	return b.String()
}

// mustRead parses a request that must be accepted.
func mustRead(t *testing.T, line string) (r Request) {
	t.Helper()
	if err := ParseRequest([]byte(line), &r); err != nil {
		t.Fatalf("%.80q: %v", line, err)
	}
	return r
}

// mustReadReply parses a reply that must be accepted.
func mustReadReply(t *testing.T, line string) (r Reply) {
	t.Helper()
	if err := ParseReply([]byte(line), &r); err != nil {
		t.Fatalf("%.80q: %v", line, err)
	}
	return r
}

func request(r Request) string { return string(AppendRequest(nil, &r)) }

func reply(r Reply) string { return string(AppendReply(nil, &r)) }

// clip shortens what a failure prints.
func clip(s string) string {
	if len(s) <= 100 {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:100], len(s))
}
