package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"

	"github.com/caddylock/caddylock/client/fence"
)

// Of the test with many writers: each has a connection of its own and takes the
// next token again and again, as if its lease had run out, until none is left.
const (
	writers = 8
	tokens  = 200
)

var resources = []string{"a", "b"}

func TestAmongManyWritersTokensNeverFall(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		var all sync.WaitGroup
		var granted, admitted atomic.Int64
		for range writers {
			db := d.connect(patient)
			all.Go(func() { d.writeAll(db, &granted, &admitted) })
		}
		all.Wait()
		d.checkOrder()
		if n := d.writes(); n != admitted.Load() {
			t.Errorf("%d writes are in the database, %d were admitted", n, admitted.Load())
		}
	})
}

// writeAll writes twice with every token that it is granted.
func (d *database) writeAll(db *sql.DB, granted, admitted *atomic.Int64) {
	for token := granted.Add(1); token <= tokens; token = granted.Add(1) {
		for _, resource := range slices.Concat(resources, resources) {
			err := d.write(d.t.Context(), db, resource, uint64(token))
			switch {
			case err == nil:
				admitted.Add(1)
			case !errors.Is(err, fence.ErrStale):
				d.t.Errorf("token %d of %q: %v", token, resource, err)
			}
		}
	}
}

// checkOrder looks for a write after one with a greater token. SQLite has one
// writer at a time, so numbers are in the order of the commits.
func (d *database) checkOrder() {
	d.t.Helper()
	const late = `SELECT count(*) FROM writes AS late JOIN writes AS earlier
ON late.resource = earlier.resource AND late.number > earlier.number AND late.token < earlier.token`
	if n := d.number(late); n != 0 {
		d.t.Errorf("%d pairs of writes are in the wrong order", n)
	}
	for _, resource := range resources {
		written := d.number("SELECT max(token) FROM writes WHERE resource = ?", resource)
		if written != tokens || d.kept(resource) != tokens {
			d.t.Errorf("%q was written with %d and keeps %d, want %d", resource, written, d.kept(resource), tokens)
		}
	}
}

// begin begins a transaction that is admitted.
func (d *database) begin(resource string, token uint64) *sql.Tx {
	d.t.Helper()
	tx, err := d.db.BeginTx(d.t.Context(), nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.guard.Check(d.t.Context(), tx, resource, token); err != nil {
		d.t.Fatal(err)
	}
	return tx
}

func busy(err error) bool {
	var failure *sqlite.Error
	return errors.As(err, &failure) && failure.Code()&0xff == sqlitecode.SQLITE_BUSY
}

func TestNobodyIsAdmittedBesideATransaction(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		other := d.connect(impatient)
		tx := d.begin("a", 33)
		for _, token := range []uint64{32, 33, 34} {
			if err := d.write(t.Context(), other, "a", token); !busy(err) {
				t.Errorf("token %d beside an open transaction of 33: %v, want busy", token, err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := d.write(t.Context(), other, "a", 32); !errors.Is(err, fence.ErrStale) {
			t.Errorf("token 32 after the commit of 33: %v, want ErrStale", err)
		}
		if err := d.write(t.Context(), other, "a", 34); err != nil {
			t.Errorf("token 34 after the commit of 33: %v", err)
		}
	})
}

// TestWhoWaitedFindsWhatTheOneBeforeLeft: its token if that was committed, and
// nothing of it if not.
func TestWhoWaitedFindsWhatTheOneBeforeLeft(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(tx *sql.Tx) error
		want error
	}{
		"committed":   {(*sql.Tx).Commit, fence.ErrStale},
		"rolled back": {(*sql.Tx).Rollback, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDialect(t, func(t *testing.T, d *database) {
				other, waited := d.connect(patient), make(chan error, 1)
				tx := d.begin("a", 40)
				go func() { waited <- d.write(t.Context(), other, "a", 34) }()
				if err := test.end(tx); err != nil {
					t.Error(err)
				}
				if err := <-waited; !errors.Is(err, test.want) {
					t.Errorf("token 34 after one of 40 that was %s: %v, want %v", name, err, test.want)
				}
			})
		})
	}
}

// TestWhoReadsFirstIsNotAdmittedOnOldData: SQLite ends the transaction as busy, as
// fence.SQLite says.
func TestWhoReadsFirstIsNotAdmittedOnOldData(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		tx, err := d.connect(patient).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		var n int
		if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM writes").Scan(&n); err != nil {
			t.Fatal(err)
		}
		d.check(0, step{"a", 34, 0})
		if err := d.guard.Check(t.Context(), tx, "a", 35); !busy(err) {
			t.Errorf("a transaction that read before another wrote: %v, want busy", err)
		}
	})
}

// A transaction that is IMMEDIATE may read first: nobody else writes meanwhile.
func TestATransactionBegunByHand(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		d.check(0, step{"a", 33, 0})
		ctx, other := t.Context(), d.connect(impatient)
		conn, err := d.db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, began := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		var n int
		read := conn.QueryRowContext(ctx, "SELECT count(*) FROM writes").Scan(&n)
		if err := d.write(ctx, other, "a", 40); !busy(err) {
			t.Errorf("another writer: %v, want busy", err)
		}
		checked, noted := d.guard.Check(ctx, conn, "a", 34), note(ctx, conn, "a", 34)
		_, committed := conn.ExecContext(ctx, "COMMIT")
		if err := errors.Join(began, read, checked, noted, committed, conn.Close()); err != nil {
			t.Fatal(err)
		}
		if n := d.writes(); n != 2 || d.kept("a") != 34 {
			t.Errorf("%d writes and token %d are kept, want 2 and 34", n, d.kept("a"))
		}
	})
}

func TestAContextThatEndsRollsBack(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		d.check(0, step{"a", 33, 0})
		ctx, cancel := context.WithCancel(t.Context())
		err := d.guard.Do(ctx, d.db, "a", 40, func(tx *sql.Tx) error {
			defer cancel()
			return note(ctx, tx, "a", 40)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that the context is over", err)
		}
		d.check(1, step{"a", 34, 0})
		if n := d.writes(); n != 2 {
			t.Errorf("%d writes are in the database, want 2", n)
		}
	})
}
