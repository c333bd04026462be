package command

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestProcessAKilledWrapperTakesItsCommandAlong(t *testing.T) {
	s := newShell(t)
	s.serve()
	cmd := s.begin("k", []string{"--lease", "2s"}, `echo $$ >pid; echo begun; exec sleep 1000`)
	text, err := os.ReadFile(filepath.Join(s.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	s.eventually("the command is gone", func() bool { return !runs(pid) })
	s.eventually("the lease has ended", func() bool { return s.isFree("k") })
}
