package fence

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
)

// script is a database that notes what is said to it, and answers every statement
// alike: affected to those that write, one row to those that read, or err.
type script struct {
	affected int64
	row      int64
	err      error
	said     []string
}

var (
	_ driver.Connector      = (*script)(nil)
	_ driver.ExecerContext  = scriptConn{}
	_ driver.QueryerContext = scriptConn{}
)

func (s *script) Connect(context.Context) (driver.Conn, error) { return scriptConn{s}, nil }
func (s *script) Driver() driver.Driver                        { return nil }

func (s *script) note(query string, args []driver.NamedValue) {
	texts := make([]string, len(args))
	for i, arg := range args {
		texts[i] = fmt.Sprintf("%#v", arg.Value)
	}
	s.said = append(s.said, fmt.Sprintf("%s [%s]", query, strings.Join(texts, " ")))
}

type scriptConn struct{ *script }

func (c scriptConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.note(query, args)
	return driver.RowsAffected(c.affected), c.err
}

func (c scriptConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.note(query, args)
	if c.err != nil {
		return nil, c.err
	}
	return &scriptRows{token: c.row}, nil
}

func (scriptConn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (scriptConn) Close() error                        { return nil }
func (scriptConn) Begin() (driver.Tx, error)           { return scriptTx{}, nil }

type scriptTx struct{}

func (scriptTx) Commit() error   { return nil }
func (scriptTx) Rollback() error { return nil }

// scriptRows is one row of one token.
type scriptRows struct {
	token int64
	read  bool
}

func (*scriptRows) Columns() []string { return []string{"token"} }
func (*scriptRows) Close() error      { return nil }

func (r *scriptRows) Next(dest []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	dest[0] = r.token
	return nil
}
