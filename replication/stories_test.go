package replication

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStories plays the stories in testdata/stories. Each is named as the
// sentence that it proves.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			playFile(t, file)
		})
	}
}

func playFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	title, lines := "", []storyLine(nil)
	tell := func() {
		if len(lines) > 0 {
			told := lines
			t.Run(title, func(t *testing.T) { play(t, told) })
		}
	}
	for i, line := range strings.Split(string(text), "\n") {
		if next, is := strings.CutPrefix(line, "== "); is {
			tell()
			title, lines = next, nil
		} else if isStep(line) {
			lines = append(lines, storyLine{at: fmt.Sprintf("%s:%d", file, i+1), text: line})
		}
	}
	tell()
}
