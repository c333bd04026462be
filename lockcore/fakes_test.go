package lockcore

import (
	"slices"
	"testing"
	"time"
)

// counter issues the tokens after last.
type counter struct{ last uint64 }

func (c *counter) Next() uint64 {
	c.last++
	return c.last
}

// bound is a Quota of one table that can be read.
type bound struct{ max, used int }

func (b *bound) Take() bool {
	if b.used >= b.max {
		return false
	}
	b.used++
	return true
}

func (b *bound) Force() { b.used++ }

func (b *bound) Return() {
	if b.used == 0 {
		panic("a quota is returned that was not taken")
	}
	b.used--
}

// line is a connection. Its owner is who speaks there.
type line struct {
	name  string
	owner *Owner
}

// dial makes a connection of a client; the client "" gives no name.
func dial(client, name string) *line {
	return &line{name: name, owner: &Owner{Client: client, Addr: name}}
}

func (l *line) acquire(key string, tag uint64, lease, wait time.Duration) *Acquire {
	return &Acquire{Conn: l, Owner: l.owner, Tag: tag, Lease: lease, Wait: wait, Key: []byte(key)}
}

func (l *line) release(key string, token uint64) *Release {
	return &Release{Conn: l, Token: token, Key: []byte(key)}
}

func (l *line) cancel(key string, target uint64) *Cancel {
	return &Cancel{Conn: l, Owner: l.owner, Target: target, Key: []byte(key)}
}

// roomy are limits that no test reaches by accident.
var roomy = Limits{MaxWaiters: 1 << 20, Grace: 5 * time.Second}

func newRoomy() (*Table, *bound) {
	quota := &bound{max: 1 << 30}
	return NewTable(&counter{}, quota, roomy), quota
}

func check(tb testing.TB, t *Table) {
	tb.Helper()
	if err := t.Check(); err != nil {
		tb.Fatal(err)
	}
}

// expect fails unless the effects are of these kinds, in this order.
func expect(tb testing.TB, effects []Effect, kinds ...Kind) {
	tb.Helper()
	same := len(effects) == len(kinds)
	for i := 0; same && i < len(kinds); i++ {
		same = effects[i].Kind == kinds[i]
	}
	if !same {
		tb.Fatalf("got effects %+v, want kinds %v", effects, slices.Clone(kinds))
	}
}

// numbered returns the i-th of many keys, all 16 bytes long.
func numbered(i int) []byte {
	key := []byte("key/000000000000")
	for at := len(key) - 1; i > 0; at-- {
		key[at] = byte('0' + i%10)
		i /= 10
	}
	return key
}
