package load

import (
	"fmt"
	"strconv"
	"strings"
)

// contendedName is what the names of contended workloads start with.
const contendedName = "contended"

// Workload is what a run does.
type Workload struct {
	// Connections is from 1 to MaxLanes.
	Connections int
	// InFlight is how many requests each connection has in flight, every one about
	// a key of its own: from 1 to MaxSlots. 1 in contended workloads.
	InFlight int
	// Contended workloads have one key that all connections want.
	Contended bool
}

// Description is a workload's name and what it shows, in half a line.
type Description struct{ Name, Text string }

// Workloads returns the workloads of the end-to-end benchmarks. Others may have
// other numbers.
func Workloads() []Description {
	return []Description{
		{"1x1", "1 connection, 1 request in flight: the round trip"},
		{"8x1", "8 connections, 1 request in flight on each"},
		{"64x1", "64 connections, 1 request in flight on each"},
		{"1x64", "1 connection, 64 requests in flight"},
		{"8x64", "8 connections, 64 requests in flight on each: the greatest rate"},
		{"64x8", "64 connections, 8 requests in flight on each"},
		{"contended64", "64 connections pass one key around: handovers"},
	}
}

// ParseWorkload reads the name of a workload: NxM for N connections with M
// requests in flight on each, contendedN for N connections that want one key. N
// and M are from 1 to 1,000.
func ParseWorkload(name string) (Workload, error) {
	w, err := parseWorkload(name)
	if err == nil {
		err = w.check()
	}
	if err != nil {
		return Workload{}, fmt.Errorf("workload %q: %w", name, err)
	}
	return w, nil
}

func parseWorkload(name string) (Workload, error) {
	if clients, ok := strings.CutPrefix(name, contendedName); ok {
		n, err := count(clients)
		return Workload{Connections: n, InFlight: 1, Contended: true}, err
	}
	connections, inFlight, _ := strings.Cut(name, "x")
	n, err := count(connections)
	if err != nil {
		return Workload{}, err
	}
	m, err := count(inFlight)
	return Workload{Connections: n, InFlight: m}, err
}

// count reads digits: Atoi alone would take a sign.
func count(digits string) (int, error) {
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("expected NxM or %sN, such as 8x64 or %s64", contendedName, contendedName)
	}
	return int(n), nil
}

func (w Workload) check() error {
	if w.Connections < 1 || w.Connections > MaxLanes {
		return fmt.Errorf("the connections may be 1 to %d, not %d", MaxLanes, w.Connections)
	}
	if w.InFlight < 1 || w.InFlight > MaxSlots {
		return fmt.Errorf("the requests in flight may be 1 to %d, not %d", MaxSlots, w.InFlight)
	}
	if w.Contended && w.InFlight != 1 {
		return fmt.Errorf("a contended workload has one request in flight on each connection, not %d", w.InFlight)
	}
	return nil
}

// String returns the name that ParseWorkload reads.
func (w Workload) String() string {
	if w.Contended {
		return contendedName + strconv.Itoa(w.Connections)
	}
	return fmt.Sprintf("%dx%d", w.Connections, w.InFlight)
}

// laneNumber is that of connection i.
func (w Workload) laneNumber(i int) int {
	if w.Contended {
		return 0
	}
	return i
}
