package caddymodule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

func init() {
	httpcaddyfile.RegisterGlobalOption("lock", parseGlobalOption)
}

// appOptions are the options of the app, in the order in which they are listed
// to the operator.
var appOptions = []option[App]{
	durationOption("max_lease", "24h", func(a *App) *caddy.Duration { return &a.MaxLease }),
	numberOption("max_keys", "10000000", func(a *App) *int { return &a.MaxKeys }),
	numberOption("max_waiters_per_key", "100000", func(a *App) *int { return &a.MaxWaitersPerKey }),
	numberOption("max_connections", "100000", func(a *App) *int { return &a.MaxConnections }),
	numberOption("max_key_bytes", "1024", func(a *App) *int { return &a.MaxKeyBytes }),
	numberOption("max_outbox", "1048576", func(a *App) *int { return &a.MaxOutbox }),
	durationOption("reconnect_grace", "5s", func(a *App) *caddy.Duration { return &a.ReconnectGrace }),
	durationOption("client_timeout", "15s", func(a *App) *caddy.Duration { return &a.ClientTimeout }),
	durationOption("shutdown_timeout", "5s", func(a *App) *caddy.Duration { return &a.ShutdownTimeout }),
}

// parseGlobalOption sets up the App from Caddyfile tokens. Syntax:
//
//	{
//		lock {
//			max_lease           <duration>
//			max_keys            <number>
//			max_waiters_per_key <number>
//			max_connections     <number>
//			max_key_bytes       <number>
//			max_outbox          <number>
//			reconnect_grace     <duration>
//			client_timeout      <duration>
//			shutdown_timeout    <duration>
//		}
//	}
func parseGlobalOption(d *caddyfile.Dispenser, earlier any) (any, error) {
	d.Next() // consume the option's name
	if earlier != nil {
		return nil, d.Errf("there are two global options lock; write all options of the lock server into one")
	}
	app := new(App)
	if err := parseBlock(d, app, appOptions); err != nil {
		return nil, err
	}
	return httpcaddyfile.App{Name: "lock", Value: caddyconfig.JSON(app, nil)}, nil
}

// option is what a line of a block can set in a T.
type option[T any] struct {
	name string
	// example is a value, and kind says what it is one of.
	example, kind string
	// set reads a value. It returns false if that is not of its kind.
	set func(into *T, value string) bool
}

func durationOption[T any](name, example string, field func(*T) *caddy.Duration) option[T] {
	return option[T]{name, example, "a duration", func(into *T, value string) bool {
		d, err := caddy.ParseDuration(value)
		*field(into) = caddy.Duration(d)
		return err == nil && d > 0
	}}
}

func numberOption[T any](name, example string, field func(*T) *int) option[T] {
	return option[T]{name, example, "a whole number", func(into *T, value string) bool {
		n, err := strconv.Atoi(value)
		*field(into) = n
		return err == nil && n > 0
	}}
}

// parseBlock reads the rest of a directive whose name was consumed: a block of
// options, each at most once, or nothing.
func parseBlock[T any](d *caddyfile.Dispenser, into *T, options []option[T]) error {
	directive := d.Val()
	if d.NextArg() {
		return d.Errf("%s takes nothing on its line, but has '%s'; %s", directive, d.Val(), whereToWrite(options))
	}
	seen := make(map[string]bool)
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		name := d.Val()
		i := slices.IndexFunc(options, func(o option[T]) bool { return o.name == name })
		if i < 0 {
			return d.Errf("%s has no option '%s'; %s", directive, name, whatToWrite(options))
		}
		if seen[name] {
			return d.Errf("%s has the option %s twice; write it once", directive, name)
		}
		seen[name] = true
		if err := options[i].parse(d, into, nesting); err != nil {
			return d.WrapErr(fmt.Errorf("%s option %w", directive, err))
		}
	}
	return nil
}

// parse reads the value of an option whose name was consumed.
func (o *option[T]) parse(d *caddyfile.Dispenser, into *T, nesting int) error {
	if !d.NextArg() {
		return fmt.Errorf("%s has no value; write %s, such as '%s %s'", o.name, o.kind, o.name, o.example)
	}
	value := d.Val()
	if !o.set(into, value) {
		return fmt.Errorf("%s cannot be '%s'; write %s above 0, such as '%s %s', or leave it out",
			o.name, value, o.kind, o.name, o.example)
	}
	if d.NextArg() {
		return fmt.Errorf("%s takes one value, but has also '%s'; write one", o.name, d.Val())
	}
	if d.NextBlock(nesting + 1) {
		return fmt.Errorf("%s takes no block; write '%s %s'", o.name, o.name, value)
	}
	return nil
}

func whereToWrite[T any](options []option[T]) string {
	if len(options) == 0 {
		return "write nothing after it"
	}
	return "write its options into a block, { … }"
}

func whatToWrite[T any](options []option[T]) string {
	if len(options) == 0 {
		return "write it without a block"
	}
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.name
	}
	return "write one of " + strings.Join(names, ", ")
}
