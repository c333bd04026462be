package bench

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
)

// supported says whether this system can tell what a benchmark needs to know.
const supported = true

// cpuTime returns the processor time of this process, ended threads included.
func cpuTime() (time.Duration, error) {
	var r syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}

// residentBytes returns this process's resident memory. It adds up the mappings,
// because the kernel's running total (statm, status) is off by some hundred
// kilobytes.
func residentBytes() (int64, error) {
	rollup, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, err
	}
	_, after, found := bytes.Cut(rollup, []byte("\nRss:"))
	value, _, closed := bytes.Cut(after, []byte(" kB\n"))
	if !found || !closed {
		return 0, errors.New("no Rss in /proc/self/smaps_rollup")
	}
	kilobytes, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	return kilobytes << 10, err
}

// descriptorLimit returns how many files and sockets this process may open.
func descriptorLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(limit.Cur)
}
