package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddylock/caddylock/caddymodule/load"
)

const (
	defaultBench = 5 * time.Second
	dialTimeout  = 5 * time.Second
)

const benchHelp = `Puts load on a lock server and measures it. Only keys of its own are used, but
the load is real: do not do this to a server that others need.

A workload NxM is N connections with M requests in flight on each, every one
about a key of its own: a pair is an acquire and its release, and the latency is
that of a request. In contendedN, N connections pass one key around: a pair is a
handover, and the latency is the time from a release to the next grant. Without
--workload these are measured one after the other:

%s
Ctrl+C ends it and prints what was measured until then.

` + exitHelp

const benchExample = `
  caddy lock bench
  caddy lock bench --workload 8x64 --workload contended8 --duration 10s`

func newBench(sys *system) *cobra.Command {
	b := &bench{sys: sys, duration: defaultBench}
	cmd := sys.subcommand("bench [flags]", "Measures a lock server", fmt.Sprintf(benchHelp, workloadHelp()), benchExample, b.run)
	cmd.Flags().StringSliceVar(&b.workloads, "workload", nil, "workload `NxM` or contendedN; may be repeated, or a list with commas")
	cmd.Flags().Var(&durationValue{value: &b.duration, least: time.Millisecond}, "duration", "how long each workload is kept up")
	cmd.Flags().BoolVar(&b.json, "json", false, "print a JSON object for each workload")
	b.connection = addConnection(cmd, sys)
	return cmd
}

func workloadHelp() string {
	var text strings.Builder
	for _, w := range load.Workloads() {
		fmt.Fprintf(&text, "  %-12s %s\n", w.Name, w.Text)
	}
	return text.String()
}

type bench struct {
	sys        *system
	connection *connection
	workloads  []string
	duration   time.Duration
	json       bool
}

func (b *bench) run(ctx context.Context, args []string) error {
	if len(args) != 0 {
		return usage("expected no arguments, but there is %q", args[0])
	}
	workloads, err := b.parse()
	if err != nil {
		return err
	}
	addrs, config, err := b.connection.resolve()
	if err != nil {
		return err
	}
	results, err := b.measure(ctx, workloads, dialer(addrs, config))
	if writeErr := b.write(results); writeErr != nil && err == nil {
		err = fmt.Errorf("writing the results: %w", writeErr)
	}
	return err
}

func (b *bench) parse() ([]load.Workload, error) {
	names := b.workloads
	if len(names) == 0 {
		for _, w := range load.Workloads() {
			names = append(names, w.Name)
		}
	}
	list := make([]load.Workload, 0, len(names))
	for _, name := range names {
		w, err := load.ParseWorkload(name)
		if err != nil {
			return nil, usage("%w", err)
		}
		list = append(list, w)
	}
	return list, nil
}

// measure returns what was measured, also until an error.
func (b *bench) measure(ctx context.Context, workloads []load.Workload, dial dialFunc) (results []load.Result, err error) {
	for _, w := range workloads {
		line := newProgress(b.sys.stderr, w.String())
		result, err := load.Run(ctx, load.Config{Dial: dial, Workload: w, Duration: b.duration, Progress: line.show})
		line.clear()
		if result.Pairs > 0 {
			results = append(results, result)
		}
		if err != nil {
			return results, benchError(w, err)
		}
	}
	return results, nil
}

// benchError gives the error of a run an exit code.
func benchError(w load.Workload, err error) error {
	err = fmt.Errorf("workload %s: %w", w, err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case is[*load.RefusedError](err):
		return &codedError{exitRefused, err}
	case is[*load.MovedError](err):
		return &codedError{exitUnavailable, fmt.Errorf("%w; measure that one, with --addr", err)}
	case errors.Is(err, context.Canceled):
		return err
	case network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &codedError{exitUnavailable, err}
	}
	return err
}

func is[E error](err error) bool {
	_, found := errors.AsType[E](err)
	return found
}

type dialFunc = func(ctx context.Context) (net.Conn, error)

// dialer connects to the first address that takes a connection.
func dialer(addrs []string, config *tls.Config) dialFunc {
	return func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		var failures []error
		for _, addr := range addrs {
			conn, err := dialOne(ctx, addr, config)
			if err == nil {
				return conn, nil
			}
			failures = append(failures, err)
		}
		return nil, errors.Join(failures...)
	}
}

func dialOne(ctx context.Context, addr string, config *tls.Config) (net.Conn, error) {
	network := "tcp"
	if path, is := strings.CutPrefix(addr, "unix/"); is {
		network, addr = "unix", path
	}
	if config == nil {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, network, addr)
}
