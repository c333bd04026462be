package command

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/caddylock/caddylock/caddymodule/load"
)

// clearLine goes to the start of the line and clears it.
const clearLine = "\r\x1b[K"

// progress shows how far a workload is: on one line of a terminal, elsewhere on
// one line each time.
type progress struct {
	out      *os.File
	workload string
	terminal bool
}

func newProgress(out *os.File, workload string) *progress {
	return &progress{out, workload, term.IsTerminal(int(out.Fd()))}
}

// show is best effort, as all that goes to standard error.
func (p *progress) show(now load.Progress) {
	text := fmt.Sprintf("%s: %s, %.0f pairs/s", p.workload, now.Elapsed.Round(100*time.Millisecond), now.Rate)
	if p.terminal {
		_, _ = fmt.Fprint(p.out, clearLine+text)
		return
	}
	_, _ = fmt.Fprintln(p.out, text)
}

// clear makes room for what comes after.
func (p *progress) clear() {
	if p.terminal {
		_, _ = fmt.Fprint(p.out, clearLine)
	}
}
