package caddylock

import (
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/caddylock/caddylock"

// allowed says what each package may depend on outside the standard library,
// directly or not. "" stands for everything.
var allowed = map[string][]string{
	"/lockcore/wire":       nil,
	"/lockcore":            nil,
	"/replication":         {module + "/lockcore", "go.uber.org/zap", "go.uber.org/multierr"},
	"/client":              {module + "/lockcore/wire"},
	"/client/fence":        nil,
	"/caddymodule/load":    {module + "/lockcore/wire"},
	"/caddymodule":         {""},
	"/caddymodule/command": {""},
}

// The layers are what keeps the lock table testable in virtual time and the
// client free of Caddy, so they are checked and not only described.
func TestPackagesImportOnlyWhatTheirLayerMay(t *testing.T) {
	t.Parallel()
	for pkg, may := range allowed {
		for _, dep := range dependencies(t, module+pkg) {
			if !mayImport(dep, module+pkg, may) {
				t.Errorf("%s depends on %s; it may depend on %q and the standard library", module+pkg, dep, may)
			}
		}
	}
}

func mayImport(dep, pkg string, may []string) bool {
	if dep == pkg {
		return true
	}
	for _, prefix := range may {
		if prefix == "" || dep == prefix || strings.HasPrefix(dep, prefix+"/") {
			return true
		}
	}
	return false
}

// dependencies lists what a package is built from, but for the standard library.
func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("go list -deps %s: %v\n%s", pkg, err, out)
	}
	return strings.Fields(string(out))
}
