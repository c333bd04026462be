package command

import (
	"context"
	"os"
)

// untilSignal returns a context that ends with a signal that would end the process,
// with a *signalError as its cause.
func (s *system) untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	s.notify(signals, endingSignals()...)
	go func() {
		select {
		case sig := <-signals:
			cancel(&signalError{sig})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		s.stopNotify(signals)
		cancel(nil)
	}
}
