package caddymodule

import (
	"errors"
	"fmt"

	"github.com/caddyserver/caddy/v2"
)

func init() {
	caddy.RegisterModule(&failingApp{})
}

// failingApp is an app that fails when it is told to, so that a configuration
// does.
type failingApp struct {
	In string `json:"in"`
}

// failing is the JSON of an app that fails in "provision" or "start".
func failing(in string) string { return fmt.Sprintf(`"failing": {"in": %q}`, in) }

var errFailing = errors.New("told to fail")

func (*failingApp) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "failing", New: func() caddy.Module { return new(failingApp) }}
}

func (f *failingApp) Provision(caddy.Context) error { return f.failIn("provision") }
func (f *failingApp) Start() error                  { return f.failIn("start") }
func (*failingApp) Stop() error                     { return nil }

func (f *failingApp) failIn(where string) error {
	if f.In == where {
		return errFailing
	}
	return nil
}
