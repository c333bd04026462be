package bench

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

// The environment that makes the test binary one of the servers it measures.
const (
	roleVariable    = "CADDYLOCK_BENCH_ROLE"
	addressVariable = "CADDYLOCK_BENCH_ADDRESS"
	configVariable  = "CADDYLOCK_BENCH_CONFIG"
	profileVariable = "CADDYLOCK_BENCH_CPUPROFILE"
)

var (
	sliceLength = flag.Duration("bench.slice", 500*time.Millisecond, "length of a slice of load")
	rounds      = flag.Int("bench.rounds", 5, "alternations of what is compared in a benchmark")
	manyKeys    = flag.Int("bench.keys", 10_000_000, "different keys used one after the other by BenchmarkMemory/keys")
	heldKeys    = flag.Int("bench.held", 1_000_000, "keys held at once by BenchmarkMemory/held")
	window      = flag.Duration("bench.window", 10*time.Second, "how long the processor time of BenchmarkParked is taken")
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case roleServer:
		obeyParent()
		serveLocks()
	case roleEcho:
		obeyParent()
		serveEcho()
	default:
		fmt.Fprintf(os.Stderr, "%s is %q; it may be %s or %s\n", roleVariable, role, roleServer, roleEcho)
		os.Exit(2)
	}
}
