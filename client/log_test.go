package client_test

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// countingHandler counts log lines.
type countingHandler struct{ lines *atomic.Int64 }

func countingLogger(lines *atomic.Int64) *slog.Logger { return slog.New(countingHandler{lines}) }

func (h countingHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h countingHandler) Handle(context.Context, slog.Record) error {
	h.lines.Add(1)
	return nil
}

func (h countingHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h countingHandler) WithGroup(string) slog.Handler      { return h }
