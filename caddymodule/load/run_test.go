package load

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddylock/caddylock/lockcore/wire"
)

// In a bubble, a goroutine that Run left behind fails the test.

func TestRunMeasuresPairs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		r, err := Run(t.Context(), config(s, "3x4"))
		if err != nil {
			t.Fatal(err)
		}
		s.checkAllReleased(t)
		if want := int64(s.granted); r.Pairs != want || want < 1000 {
			t.Errorf("%d pairs, want the server's %d, and 1000 at least", r.Pairs, want)
		}
		if r.Fewest < 1 || r.Most < r.Fewest || r.Fewest > r.Pairs/3 || r.Most < r.Pairs/3 {
			t.Errorf("%d pairs, %d to %d on a connection", r.Pairs, r.Fewest, r.Most)
		}
		checkTimes(t, &r)
		if n := len(s.keys()); n != 12 {
			t.Errorf("%d keys, want one for each of 3 x 4 requests in flight", n)
		}
	})
}

func TestRunMeasuresHandovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		r, err := Run(t.Context(), config(s, "contended5"))
		if err != nil {
			t.Fatal(err)
		}
		s.checkAllReleased(t)
		if want := int64(s.granted); r.Pairs != want || r.Fewest < 1 {
			t.Errorf("%d handovers, want the server's %d; %d at least to each client", r.Pairs, want, r.Fewest)
		}
		checkTimes(t, &r)
		if n := len(s.keys()); n != 1 {
			t.Errorf("%d keys, want one", n)
		}
	})
}

func checkTimes(t *testing.T, r *Result) {
	t.Helper()
	if r.Elapsed < runLength || r.Rate() != float64(r.Pairs)/r.Elapsed.Seconds() {
		t.Errorf("%d pairs in %s are %f/s", r.Pairs, r.Elapsed, r.Rate())
	}
	l := r.Latency
	if l.P50 <= 0 || l.P90 < l.P50 || l.P99 < l.P90 || l.P999 < l.P99 || l.Max < l.P999 {
		t.Errorf("latencies are %+v", l)
	}
}

func TestRunReportsItsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reports []Progress
		c := config(newServer(t), "2x2")
		c.Progress = func(p Progress) { reports = append(reports, p) }
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(reports) < 2 {
			t.Fatalf("%d reports in %s", len(reports), r.Elapsed)
		}
		var before Progress
		for _, p := range reports {
			if p.Pairs <= before.Pairs || p.Elapsed <= before.Elapsed || p.Pairs > r.Pairs {
				t.Errorf("%+v after %+v, and %d pairs at the end", p, before, r.Pairs)
			}
			if want := rate(p.Pairs-before.Pairs, p.Elapsed-before.Elapsed); p.Rate != want {
				t.Errorf("the rate of %+v after %+v should be %f", p, before, want)
			}
			before = p
		}
	})
}

func TestRunsHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		for range 2 {
			if _, err := Run(t.Context(), config(s, "1x1")); err != nil {
				t.Fatal(err)
			}
		}
		keys := s.keys()
		if len(keys) != 2 || !strings.HasPrefix(keys[0], "bench/") || !strings.HasPrefix(keys[1], "bench/") {
			t.Errorf("two runs used the keys %q", keys)
		}
	})
}

func TestRunReleasesEverythingWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"3x4", "contended5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), runLength/2)
				defer cancel()
				s := newServer(t)
				r, err := Run(ctx, config(s, name))
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Run ended with %v", err)
				}
				s.checkAllReleased(t)
				if r.Pairs == 0 || r.Pairs != int64(s.granted) || r.Elapsed >= runLength {
					t.Errorf("%d pairs in %s, the server granted %d", r.Pairs, r.Elapsed, s.granted)
				}
			})
		})
	}
}

func TestRunDialsNothingOnceItsContextHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newServer(t)
	if _, err := Run(ctx, config(s, "1x1")); !errors.Is(err, context.Canceled) {
		t.Errorf("Run ended with %v", err)
	}
	if len(s.conns) > 0 {
		t.Errorf("%d connections were opened", len(s.conns))
	}
}

// A refusal ends the run, but leaves no lock behind.
func TestRunEndsWithARefusal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply string // <key> stands for the request's
		check func(error) bool
	}{
		"too many keys":            {"E A too-many-keys <key>", isRefusal(wire.CodeTooManyKeys)},
		"not ready":                {"E A not-ready <key>", isRefusal(wire.CodeNotReady)},
		"a code that is not known": {"E A too-late <key>", isRefusal("too-late")},
		"not active":               {"M 10.0.0.2:7301 A <key>", isMoved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRunEnds(t, "A", test.reply, test.check, (*server).checkAllReleased)
		})
	}
}

// After these, what the connection held cannot be given back on it.
func TestRunEndsWithAConnectionThatIsOfNoUse(t *testing.T) {
	t.Parallel()
	says := func(text string) func(error) bool {
		return func(err error) bool { return strings.Contains(err.Error(), text) }
	}
	for name, test := range map[string]struct {
		op, reply string
		check     func(error) bool
	}{
		"release refused":  {"R", "E R not-held <key>", isRefusal(wire.CodeNotHeld)},
		"release moved":    {"R", "M 10.0.0.2:7301 R <key>", isMoved},
		"malformed":        {"A", "E malformed expected a lease", says("expected a lease")},
		"not the protocol": {"A", "HTTP/1.1 400 Bad Request", says("HTTP/1.1 400 Bad Request")},
		"a timeout":        {"A", "T <key>", says("T bench/")},
		"another key":      {"A", "A 99999999 orders/42", says("orders/42")},
		"another refused":  {"A", "E A denied orders/42", says("orders/42")},
		"a small token":    {"A", "A 1 <key>", says("A 1 ")},
		"hang up":          {"A", hangUp, isBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRunEnds(t, test.op, test.reply, test.check, func(*server, *testing.T) {})
		})
	}
}

func TestRunEndsWithANoticeThatTheActiveNodeMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.script = func(conn, n int, line string) string {
			if conn == 1 && n == 100 {
				s.conns[conn].out <- "M 10.0.0.2:7301 7"
			}
			return ""
		}
		r, err := Run(t.Context(), config(s, "3x4"))
		if err == nil || !isMoved(err) || r.Elapsed >= runLength {
			t.Errorf("Run ended with %v after %s", err, r.Elapsed)
		}
		s.checkAllReleased(t)
	})
}

// checkRunEnds gives one odd reply to a request of an op on connection 2 of 3.
func checkRunEnds(t *testing.T, op, reply string, isIt func(error) bool, after func(*server, *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		odd := false
		s.script = func(conn, n int, line string) string {
			if odd || conn != 1 || n < 100 || !strings.HasPrefix(line, op+" ") {
				return ""
			}
			odd = true
			return strings.ReplaceAll(reply, "<key>", keyOf(line))
		}
		r, err := Run(t.Context(), config(s, "3x4"))
		if err == nil || !isIt(err) || !strings.Contains(err.Error(), "connection 2 of 3, pipe: ") {
			t.Errorf("Run ended with %v", err)
		}
		if r.Pairs == 0 || r.Elapsed >= runLength {
			t.Errorf("Run ended after %s with %d pairs", r.Elapsed, r.Pairs)
		}
		after(s, t)
	})
}

func isRefusal(code wire.Code) func(error) bool {
	return func(err error) bool {
		var refused *RefusedError
		return errors.As(err, &refused) && refused.Code == code && strings.Contains(err.Error(), string(code))
	}
}

func isMoved(err error) bool {
	var moved *MovedError
	return errors.As(err, &moved) && moved.Addr == "10.0.0.2:7301" && strings.Contains(err.Error(), moved.Addr)
}

// isBroken: writing may notice it before reading does.
func isBroken(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) }

// The key of a contest may be lost with the connection that held it. The others
// must not wait for the end of its lease.
func TestRunEndsThoughAContendedKeyIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.script = func(conn, n int, line string) string {
			if conn == 1 && n == 101 && strings.HasPrefix(line, "R ") {
				return hangUp
			}
			return ""
		}
		r, err := Run(t.Context(), config(s, "contended5"))
		if err == nil || !strings.Contains(err.Error(), "connection 2 of 5") {
			t.Errorf("Run ended with %v", err)
		}
		if r.Elapsed > runLength {
			t.Errorf("Run went on for %s", r.Elapsed)
		}
	})
}

func TestRunEndsThoughTheServerIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.script = func(int, int, string) string { return ignore }
		r, err := Run(t.Context(), config(s, "2x2"))
		if !errors.Is(err, os.ErrDeadlineExceeded) || r.Pairs != 0 {
			t.Errorf("Run ended with %v and %d pairs", err, r.Pairs)
		}
	})
}

func TestACancelledRunSaysWhatItCouldNotRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), runLength/2)
		defer cancel()
		s := newServer(t)
		s.script = func(_, _ int, line string) string {
			if ctx.Err() != nil && strings.HasPrefix(line, "R ") {
				return ignore
			}
			return ""
		}
		_, err := Run(ctx, config(s, "2x2"))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "of 2, pipe: reading replies, with ") {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func TestRunClosesWhatItDialledWhenADialFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		refused := errors.New("connection refused")
		c := config(s, "3x1")
		c.Dial = func(ctx context.Context) (net.Conn, error) {
			if len(s.conns) == 2 {
				return nil, refused
			}
			return s.dial(ctx)
		}
		_, err := Run(t.Context(), c)
		if !errors.Is(err, refused) || !strings.Contains(err.Error(), "connection 3 of 3") {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func TestRunRefusesAConfigThatMakesNoSense(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Config){
		"no dialler":               func(c *Config) { c.Dial = nil },
		"no duration":              func(c *Config) { c.Duration = 0 },
		"a lease too short":        func(c *Config) { c.Lease = time.Microsecond },
		"no workload":              func(c *Config) { c.Workload = Workload{} },
		"a contest with pipelines": func(c *Config) { c.Workload = Workload{2, 2, true} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			c := config(s, "1x1")
			spoil(&c)
			if _, err := Run(t.Context(), c); err == nil || len(s.conns) > 0 {
				t.Errorf("Run ended with %v after opening %d connections", err, len(s.conns))
			}
		})
	}
}

const runLength = 4 * time.Second

func config(s *server, workload string) Config {
	w, err := ParseWorkload(workload)
	if err != nil {
		panic(err)
	}
	return Config{Dial: s.dial, Workload: w, Duration: runLength}
}
