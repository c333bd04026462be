package bench

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/caddylock/caddylock/client"
)

// library is the Go client as programs use it. One has two connections to a single
// address, so there are as many clients as it takes.
type library struct {
	clients []*client.Client
	next    atomic.Uint64
}

func openLibrary(b *testing.B, addr string, connections int) pairer {
	b.Helper()
	l := &library{}
	for range connections / 2 {
		c, err := client.New([]string{addr})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := c.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
		l.clients = append(l.clients, c)
	}
	return l
}

func (l *library) pair(ctx context.Context, key string) error {
	c := l.clients[l.next.Add(1)%uint64(len(l.clients))]
	lock, err := c.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}
