package caddymodule

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
)

// fakeLayer4 stands for the layer4 app. It counts how often it is started anew.
type fakeLayer4 struct {
	stops, starts atomic.Int32
	failures      int32
}

func (f *fakeLayer4) Stop() error {
	f.stops.Add(1)
	return nil
}

func (f *fakeLayer4) Start() error {
	if f.starts.Add(1) <= f.failures {
		return errFailing
	}
	return nil
}

// watched starts a watch, and a listener that accepts, as caddy-l4 does, until it
// is told not to. One connection has arrived there.
func watched(t *testing.T, layer4 *fakeLayer4) (w *watch, ln net.Listener, die func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	w = startWatch(layer4, zap.NewNop())
	t.Cleanup(w.stop)
	var dead atomic.Bool
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil || dead.Load() {
				return
			}
			arrived.add(ln.Addr())
			_ = conn.Close()
		}
	}()
	speak(t, ln.Addr().String())
	wantArrivals(t, ln, 1)
	return w, ln, func() {
		dead.Store(true)
		speak(t, ln.Addr().String())
	}
}

// wantArrivals waits until so many connections have arrived at a listener.
func wantArrivals(t *testing.T, ln net.Listener, want uint64) {
	t.Helper()
	at := address{ln.Addr().Network(), ln.Addr().String()}
	eventually(t, func() error {
		if got := arrived.count(at); got < want {
			return fmt.Errorf("%d connections have arrived, want %d", got, want)
		}
		return nil
	})
}

// wantStarts waits until the listeners were started so often.
func wantStarts(t *testing.T, layer4 *fakeLayer4, want int32) {
	t.Helper()
	eventually(t, func() error {
		if got := layer4.starts.Load(); got < want {
			signal(connections.crowded)
			return fmt.Errorf("the listeners were started %d times, want %d", got, want)
		}
		return nil
	})
}

func TestTheWatchStartsListenersAnewThatNobodyAcceptsAt(t *testing.T) {
	layer4 := new(fakeLayer4)
	_, _, die := watched(t, layer4)
	die()
	wantStarts(t, layer4, 1)
	if got := layer4.stops.Load(); got != 1 {
		t.Errorf("the listeners were stopped %d times", got)
	}
}

func TestTheWatchTriesAgainUntilListenersStart(t *testing.T) {
	layer4 := &fakeLayer4{failures: 2}
	_, _, die := watched(t, layer4)
	die()
	wantStarts(t, layer4, 3)
}

func TestTheWatchLeavesListenersAloneThatWork(t *testing.T) {
	layer4 := new(fakeLayer4)
	w, ln, _ := watched(t, layer4)
	wantArrivals(t, ln, 2) // that of the test, and the watch's first
	signal(connections.crowded)
	wantArrivals(t, ln, 3) // the watch's check
	w.stop()
	if got := layer4.starts.Load(); got != 0 {
		t.Errorf("the listeners were started anew %d times", got)
	}
}
