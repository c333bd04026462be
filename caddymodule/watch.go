package caddymodule

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
)

// watch sees to it that listeners go on accepting. The loop of caddy-l4 that
// accepts ends for good at the first error, and running out of descriptors is
// one: a burst of connections can do that, in the time slice before the first of
// them gets as far as the gate, and so can any other part of the process. The
// listener is open then, and clients connect, but nobody ever answers them.
//
// The cure is to stop and start the layer4 app. Connections that were accepted
// are not touched by that. The symptom is that a connection of the watch's own,
// which says nothing, does not arrive.
type watch struct {
	layer4 caddy.App
	log    *zap.Logger
	// works are the addresses where a connection of the watch's own has arrived
	// some time. Others, which it may not be able to get through to, are given up
	// after one restart.
	works, givenUp map[address]bool
	// broken says that the layer4 app was stopped and could not be started.
	broken bool

	cancel context.CancelFunc
	ended  chan struct{}
}

const (
	// watchInterval is how often listeners are checked while nothing seems wrong.
	watchInterval = 10 * time.Second
	// settleTime is waited before a check when something does, for a burst to pass.
	settleTime = time.Second
	// arrivalTime is how long a connection may take to arrive, on a machine that is
	// flooded. In arrivalTries in a row it has to fail.
	arrivalTime  = time.Second
	arrivalTries = 2
	// arrivalPoll is how often is looked whether it has.
	arrivalPoll = 10 * time.Millisecond
)

// startWatch watches the listeners of the layer4 app of a configuration, after
// that has started and until stop.
func startWatch(layer4 caddy.App, log *zap.Logger) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{
		layer4: layer4, log: log, cancel: cancel, ended: make(chan struct{}),
		works: make(map[address]bool), givenUp: make(map[address]bool),
	}
	arrived.forget()
	go w.run(ctx)
	return w
}

// stop ends the watch. Caddy may stop the layer4 app after it: they do not do so
// at once.
func (w *watch) stop() {
	if w == nil {
		return
	}
	w.cancel()
	<-w.ended
}

func (w *watch) run(ctx context.Context) {
	defer close(w.ended)
	for {
		suspicious := false
		select {
		case <-ctx.Done():
			return
		case <-arrived.fresh:
			w.meet(ctx)
			continue
		case <-connections.crowded:
			suspicious = sleep(ctx, settleTime)
		case <-time.After(w.patience()):
		}
		if w.broken || w.anyDead(ctx, suspicious) {
			w.restart(ctx)
		}
	}
}

// patience is how long to wait for the next check.
func (w *watch) patience() time.Duration {
	if w.broken {
		return settleTime
	}
	return watchInterval
}

// meet learns at which addresses arriving works.
func (w *watch) meet(ctx context.Context) {
	for _, at := range arrived.addresses() {
		if !w.works[at] && arrives(ctx, at) == nil {
			w.works[at] = true
		}
	}
}

// anyDead returns whether at some address nobody accepts any more. Of one where
// arriving has never worked, that is believed once, if something suspicious has
// happened.
func (w *watch) anyDead(ctx context.Context, suspicious bool) bool {
	for _, at := range arrived.addresses() {
		believed := w.works[at] || suspicious && !w.givenUp[at]
		if !believed || w.accepts(ctx, at) {
			continue
		}
		w.givenUp[at] = !w.works[at]
		w.log.Error("nobody accepts connections any more", zap.String("address", at.addr))
		return true
	}
	return false
}

// accepts gives an address the benefit of the doubt: only if connections can be
// made, again and again, and do not arrive, nobody accepts them.
func (w *watch) accepts(ctx context.Context, at address) bool {
	for range arrivalTries {
		err := arrives(ctx, at)
		if err == nil {
			w.works[at] = true
		}
		if !errors.Is(err, errNotAccepted) || ctx.Err() != nil {
			return true
		}
	}
	return false
}

// restart makes the layer4 app listen anew.
func (w *watch) restart(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	w.log.Warn("starting the listeners of layer4 anew; the limit of open files (ulimit -n, LimitNOFILE) may be too low")
	if err := w.layer4.Stop(); err != nil {
		w.log.Error("stopping the listeners of layer4 failed", zap.Error(err))
	}
	err := w.layer4.Start()
	w.broken = err != nil
	if err != nil {
		w.log.Error("starting the listeners of layer4 failed; trying again", zap.Error(err))
		return
	}
	w.meet(ctx)
}

// errNotAccepted is about a connection that nobody accepts.
var errNotAccepted = errors.New("the connection is not accepted")

// arrives connects to an address and waits until a connection has arrived there;
// others will do as well as its own.
func arrives(ctx context.Context, at address) error {
	ctx, cancel := context.WithTimeout(ctx, arrivalTime)
	defer cancel()
	before := arrived.count(at)
	conn, err := new(net.Dialer).DialContext(ctx, at.network, at.addr)
	if err != nil {
		return dialError(err)
	}
	defer func() { _ = conn.Close() }()
	for arrived.count(at) == before {
		if !sleep(ctx, arrivalPoll) {
			return errNotAccepted
		}
	}
	return nil
}

// dialError tells a listener whose queue is full from one that is not there, and
// from a process that has no descriptor left to dial with.
func dialError(err error) error {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, syscall.EAGAIN) {
		return errNotAccepted
	}
	return err
}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
