package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	_ "github.com/caddylock/caddylock" // registers the lock plugin
)

const roleServer = "server"

// serveLocks runs Caddy as its command line would. It does not return while
// Caddy serves.
func serveLocks() {
	os.Args = []string{"caddy", "run", "--config", os.Getenv(configVariable), "--adapter", "caddyfile"}
	caddycmd.Main()
}

// caddyfile is the configuration that is measured: every option of the lock has
// its default.
const caddyfile = `{
	admin off
	persist_config off
	layer4 {
		%s {
			route {
				lock
			}
		}
	}
}
`

// startServer starts a lock server with storage of its own.
func startServer(b *testing.B) *process {
	b.Helper()
	home := b.TempDir()
	addr := freeAddress(b)
	config := filepath.Join(home, "Caddyfile")
	if err := os.WriteFile(config, fmt.Appendf(nil, caddyfile, addr), 0o600); err != nil {
		b.Fatal(err)
	}
	return startProcess(b, roleServer, addr,
		configVariable+"="+config,
		"XDG_DATA_HOME="+filepath.Join(home, "data"),
		"XDG_CONFIG_HOME="+filepath.Join(home, "config"))
}
