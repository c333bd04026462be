package sqltest

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/caddylock/caddylock/client/fence"
)

// step is a write with a token; stale if it is to be refused because the resource
// has seen greatest.
type step struct {
	resource string
	token    uint64
	greatest uint64
}

func TestOnlySmallerTokensAreRefused(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		for i, s := range []step{
			{"orders/42", 33, 0},
			{"orders/42", 33, 0},
			{"orders/42", 32, 33},
			{"orders/42", 34, 0},
			{"orders/42", 33, 34},
			{"orders/43", 1, 0},
			{"orders/42", fence.MaxToken - 1, 0},
			{"orders/42", fence.MaxToken, 0},
			{"orders/42", fence.MaxToken - 1, fence.MaxToken},
		} {
			d.check(i, s)
		}
		if n := d.writes(); n != 6 {
			t.Errorf("%d writes are in the database, want the 6 that were admitted", n)
		}
	})
}

// check makes the write of a step and looks at what comes of it.
func (d *database) check(i int, s step) {
	d.t.Helper()
	err := d.write(d.t.Context(), d.db, s.resource, s.token)
	var stale *fence.StaleError
	switch {
	case s.greatest == 0 && err != nil:
		d.t.Errorf("step %d: token %d of %q: %v, want it admitted", i, s.token, s.resource, err)
	case s.greatest != 0 && (!errors.As(err, &stale) || !errors.Is(err, fence.ErrStale)):
		d.t.Errorf("step %d: token %d of %q: %v, want it refused as stale", i, s.token, s.resource, err)
	case s.greatest != 0 && *stale != fence.StaleError{Resource: s.resource, Token: s.token, Greatest: s.greatest}:
		d.t.Errorf("step %d: refused with %+v, want greatest %d", i, *stale, s.greatest)
	}
	if want := int64(max(s.token, s.greatest)); d.kept(s.resource) != want {
		d.t.Errorf("step %d: %d is kept, want %d", i, d.kept(s.resource), want)
	}
}

func TestTokensOutliveTheProcess(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		d.check(0, step{"a", 34, 0})
		if err := d.db.Close(); err != nil {
			t.Fatal(err)
		}
		d.db = d.connect(patient)
		d.check(1, step{"a", 33, 34})
		d.check(2, step{"a", 34, 0})
	})
}

// Names are compared byte by byte, and any that is allowed fits.
func TestResourcesThatDifferAreDifferent(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		for i, resource := range []string{
			"a", "A", "a ", " a", "ä", "a\u0308", "%", "_", "'", `"`, "a'; DROP TABLE writes; --", "\n", "?",
			strings.Repeat("a", fence.MaxResourceBytes),
		} {
			d.check(i, step{resource, uint64(100 - i), 0})
		}
	})
}

func TestWhatNoGuardCanKeepIsRefused(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		for _, bad := range []struct {
			resource string
			token    uint64
			want     error
		}{
			{"", 33, fence.ErrBadResource},
			{strings.Repeat("a", fence.MaxResourceBytes+1), 33, fence.ErrBadResource},
			{"\xff", 33, fence.ErrBadResource},
			{"a\x00b", 33, fence.ErrBadResource},
			{"a", 0, fence.ErrBadToken},
			{"a", fence.MaxToken + 1, fence.ErrBadToken},
		} {
			if err := d.write(t.Context(), d.db, bad.resource, bad.token); !errors.Is(err, bad.want) {
				t.Errorf("token %d of %q: %v, want %v", bad.token, bad.resource, err, bad.want)
			}
		}
		if rows := d.number("SELECT count(*) FROM " + fence.DefaultTable); rows != 0 || d.writes() != 0 {
			t.Errorf("%d tokens and %d writes are in the database, want none", rows, d.writes())
		}
	})
}

func TestARollbackTakesTheTokenBack(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for name, fail := range map[string]func() error{
		"an error": func() error { return full },
		"a panic":  func() error { panic(full) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDialect(t, func(t *testing.T, d *database) {
				d.check(0, step{"a", 33, 0})
				if err := d.failingWrite("a", 40, fail); err != full {
					t.Errorf("got %v, want what the function failed with", err)
				}
				if n := d.writes(); n != 1 || d.kept("a") != 33 {
					t.Errorf("%d writes and token %d are kept, want 1 and 33", n, d.kept("a"))
				}
				d.check(1, step{"a", 34, 0})
			})
		})
	}
}

// failingWrite writes and then fails; it returns what the write panicked with, too.
func (d *database) failingWrite(resource string, token uint64, fail func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = cause.(error)
		}
	}()
	return d.guard.Do(d.t.Context(), d.db, resource, token, func(tx *sql.Tx) error {
		if err := note(d.t.Context(), tx, resource, token); err != nil {
			return err
		}
		return fail()
	})
}

func TestARefusedFunctionDoesNotRun(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		d.check(0, step{"a", 33, 0})
		err := d.guard.Do(t.Context(), d.db, "a", 32, func(*sql.Tx) error {
			t.Error("the function runs")
			return nil
		})
		if !errors.Is(err, fence.ErrStale) {
			t.Errorf("got %v, want ErrStale", err)
		}
	})
}
