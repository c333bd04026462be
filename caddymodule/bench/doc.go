// Package bench measures the lock server end to end: the real Caddy with the
// plugin in one process, a load generator in another, lines over loopback
// between them. It holds benchmarks only, and needs Linux.
//
//	go test -run '^$' -bench EndToEnd ./caddymodule/bench
//	go test -run '^$' -bench Goroutines ./caddymodule/bench
//	go test -run '^$' -bench Memory ./caddymodule/bench
//	go test -run '^$' -bench Parked ./caddymodule/bench
//	go test -run '^$' -bench Neighbour ./caddymodule/bench
//
// # What is compared with what
//
// A shared machine drifts by a third within an hour, so no figure stands alone.
// The same load generator sends the same lines to a bare Go echo server, in
// slices that alternate with those to the lock server; the echo is what the
// sockets alone cost. Every figure is the median of its slices, and cpu-ratio is
// the median of the ratios of neighbouring slices. The processes share the
// machine's cores, so pairs/s includes what the load generator takes; the
// processor time of the server's process (…-µs/pair) does not, and drifts least.
//
// A pair is an acquire and a release of a free key. A case is named by its
// connections and the requests in flight on each, 8x64; every request in flight
// has a key of its own. In contended64, 64 clients share one key; its unit is the
// handover, and the echo beside it runs 64x1. A handover's lines wait for each
// other, as those of one connection do, and a server that sleeps in between pays
// for waking up; so contended64 gives its ratio to the echo at 1x1, too. Latencies
// are those of single requests, but for contended64: from sending a release to
// reading the next grant.
//
// BenchmarkGoroutines is about clients: a thousand goroutines, each with a key of
// its own, make pairs by one that they share, and the clients take turns. A case is
// named by its goroutines and the connections under them. client-µs/pair is the
// processor time of this process, its collector and the goroutines' own loop
// included, and cpu-ratio that time over what the raw client takes: a client that
// does nothing but gather lines, send them, and hand out the answers by their tags.
//
// The load generator believes nothing. Each reply must be the one that its
// request asked for, each token greater than the one before it, and a contended
// key held by one client at a time; anything else fails the benchmark.
//
// # Flags
//
// They go after the package, with an equals sign. -benchtime repeats all rounds.
//
//	-bench.slice=500ms    length of a slice
//	-bench.rounds=5       alternations of what is compared in a benchmark
//	-bench.keys=10000000  different keys in BenchmarkMemory/keys
//	-bench.held=1000000   held keys in BenchmarkMemory/held
//	-bench.window=10s     how long the processor time of BenchmarkParked is taken
//
// Whether everything still works takes ten seconds; the figures say little then:
//
//	go test -run '^$' -bench . ./caddymodule/bench -bench.slice=50ms -bench.rounds=1 -bench.held=10000 -bench.keys=100000 -bench.window=1s
//
// With CADDYLOCK_BENCH_CPUPROFILE=file in the environment the lock server writes
// a profile of itself, from its start to its end, to file.pid: one for each
// server that the benchmarks start.
//
// # How it works
//
//	load generator (go test)                  the same test binary, started again
//	┌───────────────────────┐   lines         ┌──────────────────────────────┐
//	│ load.Lane: connection,│◄───────────────►│ role server: caddy run, lock │
//	│ slots, a goroutine    │   lines         ├──────────────────────────────┤
//	│ load.Plan: what's next│◄───────────────►│ role echo: read, write       │
//	└───────────────────────┘                 └──────────────────────────────┘
//	  process ── "usage", "gc" ── stdin; "ok cpu rss heap" ── stdout ──┘
package bench
