package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// DefaultTable is the table of a SQL guard unless it is told otherwise.
const DefaultTable = "fencing_tokens"

// MaxResourceBytes is how long the name of a resource can be in a SQL guard: what
// fits a key column of all databases. Use a hash for longer names.
const MaxResourceBytes = 255

// ErrBadResource means that a SQL guard cannot keep the name of a resource: it is
// empty, longer than MaxResourceBytes, not UTF-8, or contains a NUL.
var ErrBadResource = errors.New("not a resource name for a database")

// Tx is the transaction in which a write is guarded: a *sql.Tx, or a *sql.Conn
// on which a transaction was begun by hand. A *sql.DB is refused.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// SQLConfig is what a SQL guard needs to know.
type SQLConfig struct {
	Dialect Dialect
	// Table is a plain identifier, at most 63 letters, digits and underscores, or
	// two with a point between. DefaultTable if empty.
	Table string
	// Placeholder spells the nth parameter of a statement, from 1, if it is not
	// the dialect's: "@p1" for SQL Server, ":1" for Oracle.
	Placeholder func(n int) string
}

// SQL guards rows of a database, by a table with one row for each resource, in
// the same transaction as the write. It is safe for concurrent use.
//
// The first statement of Check raises the row's token to the greater of both and
// so locks the row until the transaction ends; only then is the outcome read. In
// this order it holds under READ COMMITTED and whatever is stricter. Another
// transaction for the same resource, with whatever token, waits at its own first
// statement, and then finds what this one left. To read first and compare would
// let both pass: the row read is locked by nobody, and can be raised by another
// transaction that commits before this one writes. For the same reason an equal
// token writes the row, too, unchanged: it has to lock it.
//
// Therefore call Check first in the transaction, before reading what the write
// depends on: a read before it may already be out of date when it returns.
//
// A transaction that is rolled back takes its token back, which is right, as its
// writes go, too. One that stands still holds up all others of its resource; so
// give transactions a timeout, in the database (a program that is paused cannot
// end its own).
type SQL struct {
	table      string
	statements statements
}

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$`)

// NewSQL makes a guard. It does not touch the database: see Schema.
func NewSQL(config SQLConfig) (*SQL, error) {
	if config.Table == "" {
		config.Table = DefaultTable
	}
	if !tableName.MatchString(config.Table) {
		return nil, fmt.Errorf("make sql fence: %q is not a table name", config.Table)
	}
	statements, known := dialects[config.Dialect]
	if !known {
		return nil, fmt.Errorf("make sql fence: unknown dialect %d", config.Dialect)
	}
	return &SQL{table: config.Table, statements: statements.fill(config.Table, config.Placeholder)}, nil
}

// Schema returns the statement that creates the table. It does nothing if the
// table exists, except in the Standard dialect, where that is an error.
//
// A row is one resource; its token only grows. A row that is deleted is protection
// that is lost: delete only rows of what cannot be written any more. Where the
// column compares without regard to case, or to spaces at the end, as is usual in
// SQL Server, resources that differ in nothing else share a row, and the holder of
// one may be refused because of the other.
func (s *SQL) Schema() string { return s.statements.schema }

// Check admits the transaction to write to a resource. It returns nil if the token
// is not smaller than all that were committed before, and until the transaction
// ends no other one is admitted to the resource. Otherwise the error matches
// ErrStale, ErrBadToken, ErrBadResource or what the database says. After any error
// the transaction must be rolled back.
//
// An error of the database means only that this transaction is over. Databases
// end one of several that meet (deadlock, serialization failure, busy; in the
// Standard dialect also a duplicate key, if two are the first for a resource), and
// it may be run again from its beginning.
func (s *SQL) Check(ctx context.Context, tx Tx, resource string, token uint64) error {
	if err := validate(token); err != nil {
		return err
	}
	if err := validateResource(resource); err != nil {
		return err
	}
	if _, pool := tx.(*sql.DB); pool {
		return errors.New("check fencing token: a *sql.DB is not a transaction")
	}
	greatest, err := s.statements.raise(ctx, tx, s.statements, resource, int64(token))
	if err != nil {
		return fmt.Errorf("check fencing token of %q in %s: %w", resource, s.table, err)
	}
	return compare(resource, token, greatest)
}

// Do runs fn in a transaction of db that is admitted to write to a resource, and
// commits it. If the token is refused, as by Check, fn does not run; if fn returns
// an error or panics, the transaction is rolled back. A commit that fails may have
// happened, as ever. fn must do all its work by the transaction.
func (s *SQL) Do(ctx context.Context, db *sql.DB, resource string, token uint64, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin fenced transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := s.Check(ctx, tx, resource, token); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit fenced transaction: %w", err)
	}
	return nil
}

// compare judges a token by what is in the row after the row was raised to it.
func compare(resource string, token uint64, greatest int64) error {
	switch {
	case greatest == int64(token):
		return nil
	case greatest > int64(token):
		return &StaleError{Resource: resource, Token: token, Greatest: uint64(greatest)}
	default:
		return fmt.Errorf("check fencing token of %q: the row has %d after it was raised to %d", resource, greatest, token)
	}
}

func validateResource(resource string) error {
	switch {
	case resource == "":
		return fmt.Errorf("%w: it is empty", ErrBadResource)
	case len(resource) > MaxResourceBytes:
		return fmt.Errorf("%w: %d bytes are more than %d", ErrBadResource, len(resource), MaxResourceBytes)
	case !utf8.ValidString(resource) || strings.ContainsRune(resource, 0):
		return fmt.Errorf("%w: %q is not UTF-8 without NUL", ErrBadResource, resource)
	default:
		return nil
	}
}
