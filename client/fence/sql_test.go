package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestNewSQLRefusesWhatIsNotATable(t *testing.T) {
	t.Parallel()
	for _, table := range []string{
		"a b", "a;drop table b", `a"`, "a`", "a'", "a.b.c", ".a", "a.", "1a", "a-b", "a\n", "a--", "\u00e4", "{table}",
		strings.Repeat("a", 64),
	} {
		if _, err := NewSQL(SQLConfig{Dialect: Postgres, Table: table}); err == nil {
			t.Errorf("table %q was accepted", table)
		}
	}
	for _, table := range []string{"", "tokens", "_x9", "public.Tokens", strings.Repeat("a", 63)} {
		if _, err := NewSQL(SQLConfig{Dialect: Postgres, Table: table}); err != nil {
			t.Errorf("table %q: %v", table, err)
		}
	}
}

func TestNewSQLRefusesUnknownDialects(t *testing.T) {
	t.Parallel()
	for _, dialect := range []Dialect{0, -1, Standard + 1} {
		if _, err := NewSQL(SQLConfig{Dialect: dialect}); err == nil {
			t.Errorf("dialect %d was accepted", dialect)
		}
	}
}

const upsertOfPostgres = `INSERT INTO app.tokens AS kept (resource_name, token) VALUES ($1, $2)
ON CONFLICT (resource_name) DO UPDATE
SET token = CASE WHEN kept.token < excluded.token THEN excluded.token ELSE kept.token END
RETURNING token ["a" 5]`

const upsertOfMySQL = `INSERT INTO app.tokens (resource_name, token) VALUES (?, ?)
ON DUPLICATE KEY UPDATE token = GREATEST(token, ?) ["a" 5 5]`

const updateOfStandard = `UPDATE app.tokens SET token = CASE WHEN token < @p1 THEN @p2 ELSE token END
WHERE resource_name = @p3 [5 5 "a"]`

// TestSQLStatements shows what each dialect says, in which order, and what it
// makes of the answers. The number of rows that MySQL reports must not matter.
func TestSQLStatements(t *testing.T) {
	t.Parallel()
	const selectOfMySQL = `SELECT token FROM app.tokens WHERE resource_name = ? FOR UPDATE ["a"]`
	const selectOfStandard = `SELECT token FROM app.tokens WHERE resource_name = @p1 ["a"]`
	const insertOfStandard = `INSERT INTO app.tokens (resource_name, token) VALUES (@p1, @p2) ["a" 5]`
	for _, test := range []struct {
		name     string
		dialect  Dialect
		affected int64
		row      int64
		want     []string
		stale    bool
	}{
		{"postgres admits", Postgres, 0, 5, []string{upsertOfPostgres}, false},
		{"postgres refuses", Postgres, 0, 6, []string{upsertOfPostgres}, true},
		{"mysql admits first", MySQL, 1, 5, []string{upsertOfMySQL, selectOfMySQL}, false},
		{"mysql admits greater", MySQL, 2, 5, []string{upsertOfMySQL, selectOfMySQL}, false},
		{"mysql admits equal", MySQL, 0, 5, []string{upsertOfMySQL, selectOfMySQL}, false},
		{"mysql refuses", MySQL, 0, 6, []string{upsertOfMySQL, selectOfMySQL}, true},
		{"mysql refuses and counts matches", MySQL, 1, 6, []string{upsertOfMySQL, selectOfMySQL}, true},
		{"standard admits first", Standard, 0, 0, []string{updateOfStandard, insertOfStandard}, false},
		{"standard admits", Standard, 1, 5, []string{updateOfStandard, selectOfStandard}, false},
		{"standard refuses", Standard, 1, 6, []string{updateOfStandard, selectOfStandard}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := SQLConfig{Dialect: test.dialect, Table: "app.tokens"}
			if test.dialect == Standard {
				config.Placeholder = func(n int) string { return fmt.Sprintf("@p%d", n) }
			}
			db := &script{affected: test.affected, row: test.row}
			err := checkOnce(t, config, db)
			if got, want := strings.Join(db.said, "\n"), strings.Join(test.want, "\n"); got != want {
				t.Errorf("it said\n%s\nwant\n%s", got, want)
			}
			if test.stale != errors.Is(err, ErrStale) || !test.stale && err != nil {
				t.Errorf("got %v, want stale %t", err, test.stale)
			}
		})
	}
}

// checkOnce checks token 5 of resource "a" in a transaction of the script.
func checkOnce(t *testing.T, config SQLConfig, db *script) error {
	t.Helper()
	guard, err := NewSQL(config)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(db)
	defer func() { _ = pool.Close() }()
	tx, err := pool.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	return guard.Check(t.Context(), tx, "a", 5)
}

func TestSQLRefusesARowThatWasNotRaised(t *testing.T) {
	t.Parallel()
	err := checkOnce(t, SQLConfig{Dialect: Postgres}, &script{row: 4})
	if err == nil || errors.Is(err, ErrStale) {
		t.Errorf("got %v, want an error that is not ErrStale", err)
	}
}

func TestSQLReturnsErrorsOfTheDatabase(t *testing.T) {
	t.Parallel()
	failure := errors.New("serialization failure")
	for _, dialect := range []Dialect{Postgres, SQLite, MySQL, Standard} {
		if err := checkOnce(t, SQLConfig{Dialect: dialect}, &script{affected: 1, row: 5, err: failure}); !errors.Is(err, failure) {
			t.Errorf("dialect %d: got %v, want %v", dialect, err, failure)
		}
	}
}

func TestSQLAsksNothingForBadArguments(t *testing.T) {
	t.Parallel()
	guard, err := NewSQL(SQLConfig{Dialect: SQLite})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		resource string
		token    uint64
		want     error
	}{
		{"a", 0, ErrBadToken},
		{"a", MaxToken + 1, ErrBadToken},
		{"", 1, ErrBadResource},
		{strings.Repeat("a", MaxResourceBytes+1), 1, ErrBadResource},
		{"\xff", 1, ErrBadResource},
		{"a\x00", 1, ErrBadResource},
	} {
		if err := guard.Check(context.Background(), nil, test.resource, test.token); !errors.Is(err, test.want) {
			t.Errorf("Check(%q, %d) = %v, want %v", test.resource, test.token, err, test.want)
		}
	}
}

func TestSQLRefusesAPoolInPlaceOfATransaction(t *testing.T) {
	t.Parallel()
	guard, err := NewSQL(SQLConfig{Dialect: SQLite})
	if err != nil {
		t.Fatal(err)
	}
	db := &script{row: 5}
	pool := sql.OpenDB(db)
	defer func() { _ = pool.Close() }()
	if err := guard.Check(t.Context(), pool, "a", 5); err == nil || len(db.said) != 0 {
		t.Errorf("got %v after %q", err, db.said)
	}
}
