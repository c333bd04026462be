package caddymodule

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/caddyserver/caddy/v2"
	"github.com/gofrs/flock"
)

// nodeName names the one node of a process, in the storage and in the data
// directory. It is what keeps an old state file findable, so it does not change.
const nodeName = "node"

// nodeFile is the path of a file of the node in Caddy's data directory.
func nodeFile(suffix string) string {
	return filepath.Join(caddy.AppDataDir(), "lock", nodeName+suffix)
}

// lockNodeFile takes the lock that keeps a second process from serving the same
// node. Caddy would not notice: it lets two processes listen on one port. The
// lock ends with the process, however that ends.
func lockNodeFile() (*flock.Flock, error) {
	path := nodeFile(".lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the lock node's file: %w", err)
	}
	file := flock.New(path, flock.SetPermissions(0o600))
	locked, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the lock node's file %s: %w", path, err)
	}
	if !locked {
		return nil, fmt.Errorf("another caddy process already serves this lock node: it holds %s; stop that process first, or give this one a data directory of its own (XDG_DATA_HOME)", path)
	}
	return file, nil
}

// identityForm is what an identity looks like.
var identityForm = regexp.MustCompile(`^[A-Z2-7]{26,}$`)

// identity returns what tells the node from those of other Caddys that share a
// storage with this one. It is made at the first start; the caller holds the
// node's file, so it is made once. Caddy's own identity is no good for this: at a
// first start its modules can make several, and the last one stays.
func identity() (string, error) {
	path := nodeFile(".id")
	id, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeIdentity(path)
	}
	if err != nil {
		return "", fmt.Errorf("reading the identity of the lock node: %w", err)
	}
	if !identityForm.Match(id) {
		return "", fmt.Errorf("the identity of the lock node in %s is damaged; restore the file, or delete it: locks held when the node was stopped are lost then", path)
	}
	return string(id), nil
}

// makeIdentity writes a new identity; all of it or nothing.
func makeIdentity(path string) (string, error) {
	id := rand.Text()
	unfinished := path + ".new"
	err := os.WriteFile(unfinished, []byte(id), 0o600)
	if err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		return "", fmt.Errorf("writing the identity of the lock node: %w", err)
	}
	return id, nil
}
