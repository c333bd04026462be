//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fence_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/caddylock/caddylock/client/fence"
)

// writeFenced replaces the data of the file at path, unless the file was written
// with a greater token.
//
// The token is the file's first line, so that one rename changes both: whatever
// is lost in a crash, token and data belong together, and a restart forgets
// nothing. If the file must not have such a line, keep the token in a second file,
// and write that one first: a crash between the two then leaves a token without
// its data, which refuses too much and never too little.
//
// A rename does not compare. What makes comparing and writing one step is the
// exclusive lock on a file beside it, which the system takes back when a process
// dies and which lasts only as long as the write. It excludes processes of this
// machine (and not on every network file system); that is what files are shared
// by here.
func writeFenced(path string, token uint64, data []byte) error {
	unlock, err := flock(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	greatest, _, err := readFenced(path)
	if err != nil {
		return err
	}
	if token < greatest {
		return &fence.StaleError{Resource: filepath.Base(path), Token: token, Greatest: greatest}
	}
	return replace(path, fmt.Appendf(nil, "%d\n%s", token, data))
}

// readFenced returns token 0 if there is no file. A file that is not as
// writeFenced left it is an error, not a beginning.
func readFenced(path string) (token uint64, data []byte, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	line, data, _ := bytes.Cut(content, []byte("\n"))
	token, err = fence.ParseToken(string(line))
	return token, data, err
}

// replace makes content the whole of the file at path, durably, or leaves the file
// as it was.
func replace(path string, content []byte) error {
	temp := path + ".new" // one writer at a time: the name is free, or a crash left it
	file, err := os.Create(temp)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func flock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// A file that several processes of a machine write, over restarts and crashes.
func Example_file() {
	dir, err := os.MkdirTemp("", "fence")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "report.csv")

	fmt.Println(writeFenced(path, 33, []byte("first")))
	fmt.Println(writeFenced(path, 34, []byte("second")))
	fmt.Println(writeFenced(path, 33, []byte("late")))
	token, data, err := readFenced(path)
	fmt.Println(token, string(data), err)
	// Output:
	// <nil>
	// <nil>
	// stale fencing token 33 for "report.csv": it has seen 34
	// 34 second <nil>
}
