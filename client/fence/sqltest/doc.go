// Package sqltest tests the SQL guard of package fence on a real database, SQLite.
// It is a package of its own, and has nothing but tests, so that who imports fence
// gets no database driver.
package sqltest
