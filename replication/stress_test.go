package replication

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	stressClients = 32
	stressKeys    = 6
	// stressLease is the longest lease of a stress client.
	stressLease = 150 * time.Millisecond
)

// TestClientsThatComeAndGoNeverHoldALockTogether has many clients acquire,
// keep, release, cancel, drop and come back over TCP, with leases so short that
// some run out, and looks whether two ever hold a key at once, and whether
// anything is left at the end.
func TestClientsThatComeAndGoNeverHoldALockTogether(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.options.ReconnectGrace = 100 * time.Millisecond
	h.start()
	s := &stress{tb: t, addr: h.listen(), end: time.Now().Add(stressTime())}
	for i := range s.resources {
		s.resources[i].key = fmt.Sprintf("key/%d", i)
	}
	var running sync.WaitGroup
	for i := range stressClients {
		running.Go(func() { newStressClient(s, i).run() })
	}
	running.Wait()
	s.report()
	eventually(t, "nothing is held, waited for, or counted", h.isEmpty)
	h.check()
}

func stressTime() time.Duration {
	if testing.Short() {
		return 500 * time.Millisecond
	}
	return 4 * time.Second
}

// stress is what its clients share.
type stress struct {
	tb        testing.TB
	addr      string
	end       time.Time
	resources [stressKeys]resource
	grants    grants
}

func (s *stress) report() {
	entered := 0
	for i := range s.resources {
		r := &s.resources[i]
		entered += r.entered
		for _, err := range r.errs {
			s.tb.Error(err)
		}
	}
	s.tb.Logf("%d locks were held", entered)
	if entered < 100 {
		s.tb.Errorf("only %d locks were held", entered)
	}
}

// stressClient is one client with one connection at a time.
type stressClient struct {
	*stress
	id     string
	rng    *rand.Rand
	number int
	tag    int
	phone  *phone
}

func newStressClient(s *stress, i int) *stressClient {
	return &stressClient{stress: s, id: fmt.Sprintf("stress-%09d", i), rng: rand.New(rand.NewPCG(uint64(i), 0))}
}

func (c *stressClient) run() {
	c.connect()
	for time.Now().Before(c.end) && !c.tb.Failed() {
		c.round()
	}
	c.phone.hangUp()
}

// connect dials, says who it is, and gives up the connection before.
func (c *stressClient) connect() {
	sock, err := net.Dial("tcp", c.addr)
	if err != nil {
		c.tb.Error(err)
		return
	}
	c.number++
	c.phone = newPhone(c.tb, sock)
	if hello := c.phone.ask(fmt.Sprintf("H %s %d", c.id, c.number)); !strings.HasPrefix(hello, "H lock/1 active ") {
		c.tb.Errorf("H is answered by %q", hello)
	}
	if last := fmt.Sprintf("X %d", c.number-1); c.number > 1 {
		c.phone.expect(last, last)
	}
}

// drop loses the connection, with or without a word, and makes a new one.
func (c *stressClient) drop() {
	if tcp := c.phone.sock.(*net.TCPConn); c.oneIn(2) {
		_ = tcp.SetLinger(0)
	}
	c.phone.hangUp()
	c.connect()
}

func (c *stressClient) oneIn(n int) bool { return c.rng.IntN(n) == 0 }

// claim is one acquire of a client, from its request to its end.
type claim struct {
	resource *resource
	tag      int
	lease    time.Duration
	wait     string
	asked    time.Time
	token    uint64
}

// round is one acquire, and whatever becomes of it.
func (c *stressClient) round() {
	a := c.newClaim()
	c.ask(a)
	if c.oneIn(6) {
		c.drop()
		c.ask(a)
	}
	if c.oneIn(8) {
		c.cancel(a)
		return
	}
	if c.granted(a) {
		c.use(a)
	}
}

func (c *stressClient) newClaim() *claim {
	c.tag++
	return &claim{
		resource: &c.resources[c.rng.IntN(stressKeys)],
		tag:      c.tag,
		lease:    time.Duration(5+c.rng.IntN(int(stressLease/time.Millisecond)-5)) * time.Millisecond,
		wait:     []string{"0", "try", "0.005", "0.2"}[c.rng.IntN(4)],
	}
}

func (c *stressClient) ask(a *claim) {
	a.asked = time.Now()
	c.phone.say(fmt.Sprintf("A#%d %.3f %s %s", a.tag, a.lease.Seconds(), a.wait, a.resource.key))
}

// granted waits for the answer to the acquire.
func (c *stressClient) granted(a *claim) bool {
	head, rest, _ := strings.Cut(c.answer(a.tag), " ")
	if !strings.HasPrefix(head, "A#") {
		return false
	}
	text, _, _ := strings.Cut(rest, " ")
	var err error
	if a.token, err = strconv.ParseUint(text, 10, 63); err != nil {
		c.tb.Error(err)
	}
	if err := c.grants.note(a.token, fmt.Sprintf("%s#%d %s", c.id, a.tag, a.resource.key)); err != nil {
		c.tb.Error(err)
	}
	return true
}

// answer reads until the reply of this tag; a failure is an answer too.
func (c *stressClient) answer(tag int) string {
	for !c.tb.Failed() {
		line := c.phone.hear()
		head, _, _ := strings.Cut(line, " ")
		if strings.HasSuffix(head, "#"+strconv.Itoa(tag)) {
			return line
		}
	}
	return ""
}

func (c *stressClient) cancel(a *claim) {
	c.tag++
	c.phone.say(fmt.Sprintf("C#%d %d %s", c.tag, a.tag, a.resource.key))
	if got := c.answer(c.tag); !strings.HasPrefix(got, "C#") && !c.tb.Failed() {
		c.tb.Errorf("C is answered by %q", got)
	}
}

// use works under the lock, and then does one of the things that holders do.
func (c *stressClient) use(a *claim) {
	if !a.resource.enter(a.token, a.asked.Add(a.lease)) && !c.keep(a) {
		return
	}
	time.Sleep(time.Duration(c.rng.IntN(1000)) * time.Microsecond)
	switch c.rng.IntN(12) {
	case 0:
		return // The lease will end.
	case 1, 2:
		c.drop()
	case 3, 4:
		c.keep(a)
	case 5:
		c.ask(a)
		if !c.granted(a) || !a.resource.enter(a.token, a.asked.Add(a.lease)) {
			return
		}
	}
	a.resource.leave(a.token)
	c.tag++
	c.phone.say(fmt.Sprintf("R#%d %d %s", c.tag, a.token, a.resource.key))
	c.answer(c.tag)
}

// keep reports whether the lock is still held; who waited long for it cannot
// tell without asking when its lease began.
func (c *stressClient) keep(a *claim) bool {
	c.tag++
	until := time.Now().Add(a.lease)
	c.phone.say(fmt.Sprintf("K#%d %d %.3f %s", c.tag, a.token, a.lease.Seconds(), a.resource.key))
	if !strings.HasPrefix(c.answer(c.tag), "K#") {
		a.resource.leave(a.token)
		return false
	}
	return a.resource.enter(a.token, until)
}
