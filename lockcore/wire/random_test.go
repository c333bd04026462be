package wire

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// seeds are how many random messages each test makes; a failure names its seed.
const seeds = 20_000

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// anyOf deals one of them.
func anyOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// anyUint deals numbers of every length, none below least.
func anyUint(r *rand.Rand, least uint64) uint64 { return max(least, r.Uint64()>>r.IntN(64)) }

// anyTime deals whole milliseconds of every size up to most.
func anyTime(r *rand.Rand, most time.Duration) time.Duration {
	d := time.Duration(r.Int64N(int64(most))) >> r.IntN(63)
	return max(d.Truncate(time.Millisecond), time.Millisecond)
}

// anyKey deals keys of every valid byte, often with spaces.
func anyKey(r *rand.Rand) []byte {
	key := make([]byte, 1+r.IntN(anyOf(r, 2, 20, MaxKey)))
	for i := range key {
		key[i] = anyOf(r, byte(r.Uint32()), ' ', 'k')
		if bytes.IndexByte([]byte("\x00\r\n"), key[i]) >= 0 {
			key[i] = '#'
		}
	}
	return key
}

// anyWord deals what is not empty and has no space, LF or CR.
func anyWord(r *rand.Rand) []byte { return bytes.ReplaceAll(anyKey(r), []byte(" "), []byte("_")) }

func anyClient(r *rand.Rand) []byte {
	id := make([]byte, MinClientID+r.IntN(MaxClientID-MinClientID+1))
	for i := range id {
		id[i] = anyOf(r, []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")...)
	}
	return id
}

// anyRequest deals requests in which all that is not used is zero.
func anyRequest(r *rand.Rand) Request {
	q := Request{Op: anyOf(r, OpHello, OpGiveUp, OpAcquire, OpRelease, OpKeep, OpCancel, OpQuery, OpPing), Tag: anyOf(r, 0, anyUint(r, 1))}
	switch q.Op {
	case OpHello:
		q.Client, q.N = anyClient(r), anyUint(r, 1)
	case OpGiveUp:
		q.N = anyUint(r, 1)
	case OpAcquire:
		q.Lease, q.Wait = anyTime(r, maxTime), anyOf(r, Try, Forever, anyTime(r, MaxWait))
	case OpRelease:
		q.Token = anyUint(r, 0)
	case OpKeep:
		q.Token, q.Lease = anyUint(r, 0), anyTime(r, maxTime)
	case OpCancel:
		q.Target = anyUint(r, 1)
	}
	if q.Op.hasKey() {
		q.Key = anyKey(r)
	}
	return q
}

// anyReply deals replies in which all that is not used is zero.
func anyReply(r *rand.Rand) Reply {
	p := Reply{Kind: anyOf(r, []Kind("HXATRKCQPME")...), Tag: anyOf(r, 0, anyUint(r, 1))}
	switch p.Kind {
	case KindHello:
		p.Role, p.Active, p.Generation = anyOf(r, RoleActive, RoleStandby), anyWord(r), anyUint(r, 0)
	case KindGaveUp:
		p.N = anyUint(r, 0)
	case KindGranted, KindReleased, KindKept:
		p.Token, p.Key = anyUint(r, 0), anyKey(r)
	case KindTimeout:
		p.Key = anyKey(r)
	case KindCancelled:
		p.Target, p.Key = anyUint(r, 0), anyKey(r)
	case KindQueried:
		p.Token, p.Left, p.Waiters, p.Key = anyUint(r, 0), anyOf(r, 0, anyTime(r, maxTime)), int(anyUint(r, 0)>>1), anyKey(r)
	case KindMoved, KindError:
		return anyAnswer(r, p)
	}
	return p
}

// anyAnswer deals refusals and redirections.
func anyAnswer(r *rand.Rand, p Reply) Reply {
	if p.Kind == KindMoved {
		p.Addr = anyWord(r)
	}
	switch notice := r.IntN(4) == 0; {
	case notice && p.Kind == KindMoved:
		p.Generation = anyUint(r, 0)
		return p
	case notice:
		p.Text = anyKey(r)
		return p
	}
	p.Op = anyRequest(r).Op
	if p.Kind == KindError {
		p.Code = anyOf(r, codes[:]...)
	}
	if p.Op == OpCancel {
		p.Target = anyUint(r, 0)
	}
	if p.Op.hasKey() {
		p.Key = anyKey(r)
	}
	return p
}

func TestARequestIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		want := anyRequest(dice(seed))
		line := request(want)
		var got Request
		err := ParseRequest([]byte(strings.TrimSuffix(line, "\n")), &got)
		if err != nil || !equal(got, want) {
			t.Fatalf("seed %d:%s written as %q, read as%s, %v", seed, show(want), clip(line), show(got), err)
		}
	}
}

func TestAReplyIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		want := anyReply(dice(seed))
		line := reply(want)
		var got Reply
		err := ParseReply([]byte(strings.TrimSuffix(line, "\n")), &got)
		if err != nil || !equal(got, want) {
			t.Fatalf("seed %d:%s written as %q, read as%s, %v", seed, show(want), clip(line), show(got), err)
		}
	}
}

func TestNoTimeIsReadAsLessThanItWas(t *testing.T) {
	t.Parallel()
	r := dice(2)
	for range 20_000 {
		d := time.Duration(r.Int64N(int64(maxTime))) >> r.IntN(63)
		got := parseTime(appendTime(nil, d))
		if got < d || got-d >= time.Millisecond || got != parseTime(appendTime(nil, got)) {
			t.Fatalf("%d written as %s, read as %d", d, appendTime(nil, d), got)
		}
	}
}

// Mostly right lines, a little spoilt, reach more of the parser than noise.
func TestSpoiltRequestsAreReadAsTheTwinReadsThem(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5 * seeds) {
		r := dice(seed)
		line := strings.TrimSuffix(request(anyRequest(r)), "\n")
		for range r.IntN(4) {
			line = spoil(r, line)
		}
		if problem := compareWithTwin(line); problem != "" {
			t.Fatalf("seed %d: %s", seed, problem)
		}
	}
}

// spoil changes, takes out or puts in a piece near a field's end.
func spoil(r *rand.Rand, line string) string {
	at := r.IntN(min(len(line), 40) + 1)
	piece := anyOf(r, "", " ", "  ", "0", "00", "1", "9", ".", ".5", "#", "\r", "\x00", "try", "-", "k", maxUint, overUint, "A", "2147483648")
	cut := min(len(line), at+r.IntN(3))
	return line[:at] + piece + line[cut:]
}

// compareWithTwin says what is wrong; "" if nothing is.
func compareWithTwin(line string) string {
	var got Request
	err := ParseRequest([]byte(line), &got)
	want, wantErr := twinParse(line)
	if _, malformed := err.(Malformed); malformed && wantErr == twinMalformed {
		return ""
	}
	if err != wantErr {
		return "of " + clip(line) + " the parser says " + say(err) + ", the twin " + say(wantErr)
	}
	if err != nil { // what makes no sense is nowhere used
		got.Lease, got.Wait, want.Lease, want.Wait = 0, 0, 0, 0
	}
	if !equal(got, want) {
		return clip(line) + " read as" + show(got) + ", by the twin as" + show(want)
	}
	return ""
}

func say(err error) string {
	if err == nil {
		return "nothing"
	}
	return err.Error()
}
