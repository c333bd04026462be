package lockcore

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the table does into the stories")

// TestStories replays testdata/stories/*.txt; README.md there says how to read
// them. After a wanted change:
//
//	go test ./lockcore -run Stories -update
//
// and read the difference.
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			checkStory(t, file)
		})
	}
}

func checkStory(t *testing.T, file string) {
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(content)
	if !strings.HasPrefix(want, "# ") {
		t.Error("a story starts with the sentence that it proves")
	}
	got := replayStory(t, want)
	if got == want {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the story goes differently:\n%s", difference(want, got))
}

// replayStory returns the story as the table tells it: comments, blank lines
// and statements as they are, and under each statement what it leads to.
func replayStory(t *testing.T, text string) string {
	s := newStory(t)
	var out strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			continue
		case strings.HasPrefix(line, "at "):
			out.WriteString(line)
			for _, told := range s.statement(strings.TrimSpace(line)) {
				out.WriteString("    " + told + "\n")
			}
		case line == "\n", strings.HasPrefix(line, "#"):
			out.WriteString(line)
		default:
			t.Fatalf("%q is neither a statement, an effect nor a comment", line)
		}
	}
	return out.String()
}

// difference marks the lines from the first that differs on.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	same := 0
	for same < min(len(w), len(g)) && w[same] == g[same] {
		same++
	}
	const context, shown = 3, 6
	from := max(0, same-context)
	return strings.Join(g[from:same], "\n") +
		"\n- " + strings.Join(w[same:min(len(w), same+shown)], "\n- ") +
		"\n+ " + strings.Join(g[same:min(len(g), same+shown)], "\n+ ")
}
