package sqltest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/caddylock/caddylock/client/fence"
)

// Options of a connection. patient waits for other writers up to a minute, which
// no test needs; impatient is told at once that the database is busy.
const (
	patient   = "?_pragma=journal_mode(wal)&_pragma=busy_timeout(60000)"
	impatient = "?_pragma=journal_mode(wal)&_pragma=busy_timeout(0)"
)

// dialects are those whose statements SQLite understands: its own, and the one for
// databases that have none.
var dialects = map[string]fence.Dialect{"sqlite": fence.SQLite, "standard": fence.Standard}

// eachDialect runs a test with a fresh database for each of the dialects.
func eachDialect(t *testing.T, test func(t *testing.T, d *database)) {
	t.Helper()
	for name, dialect := range dialects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newDatabase(t, fence.SQLConfig{Dialect: dialect}))
		})
	}
}

// database is a file with the guard's table in it, and with the table writes, which
// keeps in order who wrote.
type database struct {
	t     *testing.T
	path  string
	guard *fence.SQL
	// db is the test's own connection.
	db *sql.DB
}

func newDatabase(t *testing.T, config fence.SQLConfig) *database {
	t.Helper()
	guard, err := fence.NewSQL(config)
	if err != nil {
		t.Fatal(err)
	}
	d := &database{t: t, path: filepath.Join(t.TempDir(), "test.db"), guard: guard}
	d.db = d.connect(patient)
	d.exec(guard.Schema())
	d.exec("CREATE TABLE writes (number INTEGER PRIMARY KEY AUTOINCREMENT, resource TEXT, token INTEGER)")
	return d
}

// connect opens one connection of its own to the file.
func (d *database) connect(options string) *sql.DB {
	d.t.Helper()
	db, err := sql.Open("sqlite", "file:"+d.path+options)
	if err != nil {
		d.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	d.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (d *database) exec(statement string, args ...any) {
	d.t.Helper()
	if _, err := d.db.ExecContext(d.t.Context(), statement, args...); err != nil {
		d.t.Fatal(err)
	}
}

// number is the answer of a query that has one; 0 for NULL.
func (d *database) number(query string, args ...any) int64 {
	d.t.Helper()
	var n sql.NullInt64
	if err := d.db.QueryRowContext(d.t.Context(), query, args...).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n.Int64
}

// kept is the token in the guard's table; 0 if there is none.
func (d *database) kept(resource string) int64 {
	d.t.Helper()
	return d.number("SELECT max(token) FROM "+fence.DefaultTable+" WHERE resource_name = ?", resource)
}

func (d *database) writes() int64 {
	d.t.Helper()
	return d.number("SELECT count(*) FROM writes")
}

// write makes one guarded write on a connection.
func (d *database) write(ctx context.Context, db *sql.DB, resource string, token uint64) error {
	return d.guard.Do(ctx, db, resource, token, func(tx *sql.Tx) error {
		return note(ctx, tx, resource, token)
	})
}

func note(ctx context.Context, tx fence.Tx, resource string, token uint64) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO writes (resource, token) VALUES (?, ?)", resource, int64(token))
	return err
}
