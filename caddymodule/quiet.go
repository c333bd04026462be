package caddymodule

import (
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// quietInterval is how often a quiet logger writes one and the same message.
const quietInterval = 10 * time.Second

// quiet returns a logger for what clients can cause at will: each message is
// written once an interval, however often it happens.
func quiet(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, quietInterval, 1, 0)
	}))
}
