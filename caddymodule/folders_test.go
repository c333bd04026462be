package caddymodule

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"
)

// freshFolders gives the test a data and a configuration folder of its own, and
// returns the folder that both are in.
func freshFolders(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	useFolders(dir, func(name, value string) error { t.Setenv(name, value); return nil })
	return dir
}

// useFolders makes Caddy's folders be in dir. Caddy has looked some of them up
// when its packages were initialized.
func useFolders(dir string, setenv func(name, value string) error) {
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"} {
		if err := setenv(name, dir); err != nil {
			panic(err)
		}
	}
	caddy.DefaultStorage = &certmagic.FileStorage{Path: caddy.AppDataDir()}
	caddy.ConfigAutosavePath = filepath.Join(caddy.AppConfigDir(), "autosave.json")
}

// filesIn lists the files below a folder.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
