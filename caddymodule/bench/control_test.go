package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"
)

// The child's side of the control pipe: a line of stdin asks, a line of stdout
// answers. The end of stdin ends the child, however its parent came to its end.
const (
	askUsage = "usage"
	askGC    = "gc"
)

// usage is what a process has taken of the machine.
type usage struct {
	cpu  time.Duration // user and system, since the process started
	rss  int64         // resident bytes
	heap int64         // bytes of live and not yet collected objects
}

// usageFormat is the answer to both questions: nanoseconds, bytes, bytes.
const usageFormat = "ok %d %d %d\n"

// obeyParent starts answering the control pipe, and the profile if one is wanted.
func obeyParent() {
	answers := os.Stdout
	os.Stdout = os.Stderr // nobody else may write among the answers
	stopProfile := startProfile()
	go func() {
		err := answerControl(os.Stdin, answers)
		stopProfile()
		if err != nil {
			fmt.Fprintln(os.Stderr, "control pipe:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}()
}

func answerControl(questions io.Reader, answers io.Writer) error {
	lines := bufio.NewScanner(questions)
	for lines.Scan() {
		if lines.Text() == askGC {
			collectGarbage()
		}
		u, err := ownUsage()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(answers, usageFormat, u.cpu, u.rss, u.heap); err != nil {
			return err
		}
	}
	return lines.Err()
}

// collectGarbage gives back all memory that can be. FreeOSMemory collects once
// more: a sync.Pool keeps what it has for one collection.
func collectGarbage() {
	runtime.GC()
	debug.FreeOSMemory()
}

func ownUsage() (usage, error) {
	var u usage
	var err error
	if u.cpu, err = cpuTime(); err != nil {
		return u, fmt.Errorf("reading processor time: %w", err)
	}
	if u.rss, err = residentBytes(); err != nil {
		return u, fmt.Errorf("reading resident memory: %w", err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.heap = int64(m.HeapAlloc)
	return u, nil
}

// startProfile profiles the lock server until the function returned is called.
func startProfile() (stop func()) {
	name := os.Getenv(profileVariable)
	if name == "" || os.Getenv(roleVariable) != roleServer {
		return func() {}
	}
	file, err := os.Create(fmt.Sprintf("%s.%d", name, os.Getpid()))
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the profile:", err)
		os.Exit(1)
	}
	return func() {
		pprof.StopCPUProfile()
		file.Close()
	}
}
