package fence

import (
	"context"
	"strconv"
	"strings"
)

// Dialect is how a database spells the statements of a SQL guard.
type Dialect int

// The dialects.
const (
	// Postgres is PostgreSQL from 9.5, and what follows it (CockroachDB,
	// YugabyteDB). One statement; parameters are $1, $2.
	Postgres Dialect = iota + 1
	// SQLite is SQLite from 3.35. One statement. Check must come before all reads
	// of its transaction, or the transaction be begun as IMMEDIATE; otherwise
	// SQLite ends it as busy when another one has written meanwhile.
	SQLite
	// MySQL is MySQL and MariaDB, with InnoDB. Two statements.
	MySQL
	// Standard is any other database, by a plain UPDATE, SELECT and INSERT, with
	// parameters ? unless SQLConfig.Placeholder is set. Its UPDATE must report the
	// rows that it matched, not only those that it changed. Two transactions that
	// are the first for one resource at once cannot both succeed here: one gets a
	// duplicate key error and is to be run again.
	Standard
)

// statements are a dialect's. In them {table} stands for the table and ? for a
// parameter, until they are filled.
type statements struct {
	placeholder func(n int) string
	schema      string
	upsert      string
	update      string
	selectOne   string
	insert      string
	// raise makes the token of a row the greater of what it was and what it is
	// given, creates the row if there is none, and returns the token that the row
	// has then. The row must be locked when it returns, and have been before the
	// token was read.
	raise func(ctx context.Context, tx Tx, s statements, resource string, token int64) (int64, error)
}

// The upsert finds a row that another transaction inserted, even if that is not
// in the snapshot of this one, waits for its end, and does not fail on it. An
// INSERT that fails would end the transaction in PostgreSQL.
const upsertReturning = `INSERT INTO {table} AS kept (resource_name, token) VALUES (?, ?)
ON CONFLICT (resource_name) DO UPDATE
SET token = CASE WHEN kept.token < excluded.token THEN excluded.token ELSE kept.token END
RETURNING token`

const createTable = `CREATE TABLE IF NOT EXISTS {table} (
	resource_name VARCHAR(255) NOT NULL PRIMARY KEY,
	token BIGINT NOT NULL
)`

var dialects = map[Dialect]statements{
	Postgres: {
		placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
		schema:      createTable,
		upsert:      upsertReturning,
		raise:       raiseReturning,
	},
	SQLite: {
		placeholder: questionMark,
		schema:      createTable,
		upsert:      upsertReturning,
		raise:       raiseReturning,
	},
	MySQL: {
		placeholder: questionMark,
		// Bytes, because text would compare without regard to case or to spaces at
		// the end; InnoDB, because other engines have no transactions.
		schema: `CREATE TABLE IF NOT EXISTS {table} (
	resource_name VARBINARY(255) NOT NULL PRIMARY KEY,
	token BIGINT NOT NULL
) ENGINE=InnoDB`,
		upsert: `INSERT INTO {table} (resource_name, token) VALUES (?, ?)
ON DUPLICATE KEY UPDATE token = GREATEST(token, ?)`,
		selectOne: `SELECT token FROM {table} WHERE resource_name = ? FOR UPDATE`,
		raise:     raiseAndSelect,
	},
	Standard: {
		placeholder: questionMark,
		schema: `CREATE TABLE {table} (
	resource_name VARCHAR(255) NOT NULL PRIMARY KEY,
	token BIGINT NOT NULL
)`,
		update: `UPDATE {table} SET token = CASE WHEN token < ? THEN ? ELSE token END
WHERE resource_name = ?`,
		selectOne: `SELECT token FROM {table} WHERE resource_name = ?`,
		insert:    `INSERT INTO {table} (resource_name, token) VALUES (?, ?)`,
		raise:     raiseOrInsert,
	},
}

func questionMark(int) string { return "?" }

// fill returns the statements with the table and the parameters in them.
func (s statements) fill(table string, placeholder func(n int) string) statements {
	if placeholder != nil {
		s.placeholder = placeholder
	}
	for _, text := range []*string{&s.schema, &s.upsert, &s.update, &s.selectOne, &s.insert} {
		*text = strings.ReplaceAll(s.number(*text), "{table}", table)
	}
	return s
}

func (s statements) number(text string) string {
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(text, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(s.placeholder(n))
		text = after
	}
}

func raiseReturning(ctx context.Context, tx Tx, s statements, resource string, token int64) (greatest int64, err error) {
	err = tx.QueryRowContext(ctx, s.upsert, resource, token).Scan(&greatest)
	return greatest, err
}

// raiseAndSelect does not look at how many rows were affected: MySQL counts a row
// that stays as it is as 0, or as 1, like an inserted one, if the connection asks
// for matched rows. FOR UPDATE reads what is there now; a plain SELECT under
// REPEATABLE READ could read what was there before.
func raiseAndSelect(ctx context.Context, tx Tx, s statements, resource string, token int64) (greatest int64, err error) {
	if _, err := tx.ExecContext(ctx, s.upsert, resource, token, token); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, s.selectOne, resource).Scan(&greatest)
	return greatest, err
}

// raiseOrInsert inserts right after an UPDATE that found nothing, without looking
// again: a row that came between is not locked by this transaction and must not
// be believed.
func raiseOrInsert(ctx context.Context, tx Tx, s statements, resource string, token int64) (greatest int64, err error) {
	result, err := tx.ExecContext(ctx, s.update, token, token, resource)
	if err != nil {
		return 0, err
	}
	found, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	if found == 0 {
		_, err := tx.ExecContext(ctx, s.insert, resource, token)
		return token, err
	}
	err = tx.QueryRowContext(ctx, s.selectOne, resource).Scan(&greatest)
	return greatest, err
}
