package sqltest

import (
	"database/sql"
	"testing"

	"github.com/caddylock/caddylock/client/fence"
)

func TestTheSchemaOfSQLiteCanBeAppliedAgain(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, fence.SQLConfig{Dialect: fence.SQLite})
	d.check(0, step{"a", 33, 0})
	d.exec(d.guard.Schema())
	d.check(1, step{"a", 32, 33})
}

func TestTheStandardSchemaFailsIfTheTableExists(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, fence.SQLConfig{Dialect: fence.Standard})
	d.check(0, step{"a", 33, 0})
	if _, err := d.db.ExecContext(t.Context(), d.guard.Schema()); err == nil {
		t.Error("the table was created twice")
	}
	d.check(1, step{"a", 32, 33})
}

// TestTheTableHasTheNameThatWasAskedFor: with a schema's name before it, too.
func TestTheTableHasTheNameThatWasAskedFor(t *testing.T) {
	t.Parallel()
	for table, name := range map[string]string{
		"": fence.DefaultTable, "Tokens_2": "Tokens_2", "main.tokens": "tokens",
	} {
		for _, dialect := range dialects {
			d := newDatabase(t, fence.SQLConfig{Dialect: dialect, Table: table})
			if err := d.write(t.Context(), d.db, "a", 33); err != nil {
				t.Fatalf("table %q: %v", table, err)
			}
			if token := d.number("SELECT token FROM main." + name + " WHERE resource_name = 'a'"); token != 33 {
				t.Errorf("table %q: %d is in %s, want 33", table, token, name)
			}
		}
	}
}

// A resource has one row, and a row has a resource and a token.
func TestTheTableRefusesWhatIsNoToken(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		d.check(0, step{"a", 33, 0})
		for _, values := range []string{"('a', 34)", "(NULL, 33)", "('b', NULL)"} {
			statement := "INSERT INTO " + fence.DefaultTable + " (resource_name, token) VALUES " + values
			if _, err := d.db.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("the table takes %s", values)
			}
		}
	})
}

func TestWithoutItsTableTheGuardAdmitsNobody(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		d.exec("DROP TABLE " + fence.DefaultTable)
		err := d.guard.Do(t.Context(), d.db, "a", 33, func(*sql.Tx) error {
			t.Error("the function runs")
			return nil
		})
		if err == nil {
			t.Error("a guard without its table admits a write")
		}
	})
}
