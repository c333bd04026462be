package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/lockcore/wire"
)

// conversation is one of everything; every call must succeed whatever happens to
// the first connections, since new ones can be made.
func conversation(t *testing.T, w *world, c *client.Client) {
	lock, err := c.Acquire(t.Context(), "k")
	if err != nil {
		t.Errorf("acquire: %v", err)
		return
	}
	if err := lock.Keep(t.Context(), time.Minute); err != nil {
		t.Errorf("keep: %v", err)
	}
	if status, err := c.Query(t.Context(), "k"); err != nil || status.Token != lock.Token() {
		t.Errorf("query: %+v, %v, want token %d", status, err, lock.Token())
	}
	w.hold("other", time.Second)
	other, err := c.Acquire(t.Context(), "other", client.WithWait(time.Minute))
	if err != nil {
		t.Errorf("acquire with a wait: %v", err)
	} else if err := other.Release(t.Context()); err != nil {
		t.Errorf("release: %v", err)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Errorf("release: %v", err)
	}
	if n := w.grants(); n != 3 {
		t.Errorf("%d grants, want 3: one was taken twice", n)
	}
	w.checkIdle("after the conversation")
}

// said is how many bytes the conversation has in each direction, at most on one
// connection.
func said(t *testing.T) (up, down int) {
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		conversation(t, w, w.client([]string{nodeA}))
		for _, l := range w.all() {
			up, down = max(up, l.up.passed), max(down, l.down.passed)
		}
	})
	return up, down
}

// TestAConnectionMayBreakAtEveryByte: in both directions, one connection or both.
func TestAConnectionMayBreakAtEveryByte(t *testing.T) {
	t.Parallel()
	up, down := said(t)
	for links := 1; links <= 2; links++ {
		for at := 1; at <= max(up, down)+1; at++ {
			breakAt(t, links, at, at <= up+1, at <= down+1)
		}
	}
}

func breakAt(t *testing.T, links, at int, up, down bool) {
	for direction, may := range map[string]bool{"up": up, "down": down} {
		if !may {
			continue
		}
		passed := t.Run(fmt.Sprintf("%d links, %s, byte %d", links, direction, at), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				w.trouble(func(l *link) {
					if l.index < links && direction == "up" {
						l.up.trouble.cutAt = at
					} else if l.index < links {
						l.down.trouble.cutAt = at
					}
				})
				conversation(t, w, w.client([]string{nodeA}))
			})
		})
		if !passed {
			t.FailNow()
		}
	}
}

// TestEveryReplyMayBeLost: with its connection, one after the other.
func TestEveryReplyMayBeLost(t *testing.T) {
	t.Parallel()
	for op := range map[wire.Op]bool{'H': true, 'A': true, 'K': true, 'Q': true, 'R': true} {
		for name, does := range map[string]action{"cut before": {cutBefore: true}, "cut after": {cutAfter: true}} {
			for n := range 4 {
				t.Run(fmt.Sprintf("%c %s %d times", op, name, n), func(t *testing.T) {
					play(t, []string{nodeA}, func(t *testing.T, w *world) {
						w.on("", times(n, op, does))
						conversation(t, w, w.client([]string{nodeA}))
					})
				})
			}
		}
	}
}

// TestASilentConnectionIsLeft: nothing comes back any more, from some request
// on.
func TestASilentConnectionIsLeft(t *testing.T) {
	t.Parallel()
	for op := range map[wire.Op]bool{'A': true, 'K': true, 'Q': true, 'R': true} {
		t.Run(string(op), func(t *testing.T) {
			play(t, []string{nodeA}, func(t *testing.T, w *world) {
				gone := times(1, op, action{ignore: true})
				w.on("", func(s *session, r *wire.Request) action {
					does := gone(s, r)
					if does.ignore {
						s.link.vanish()
					}
					return does
				})
				conversation(t, w, w.client([]string{nodeA}, client.WithPing(time.Second, time.Second)))
			})
		})
	}
}

func TestLinesMayComeByteByByte(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.trouble(func(l *link) {
			l.up.trouble = trouble{atMost: 1, delay: 20 * time.Millisecond}
			l.down.trouble = trouble{atMost: 1, delay: 30 * time.Millisecond}
		})
		conversation(t, w, w.client([]string{nodeA}))
	})
}

// TestRepliesWithoutTagsAreMatchedInOrder: by op and key.
func TestRepliesWithoutTagsAreMatchedInOrder(t *testing.T) {
	t.Parallel()
	play(t, []string{nodeA}, func(t *testing.T, w *world) {
		w.nodes[nodeA].untagged = true
		c := w.client([]string{nodeA})
		conversation(t, w, c)
		w.hold("k", time.Hour)
		var waiting []<-chan result
		for range 6 {
			waiting = append(waiting, w.acquireLater(t.Context(), c, "k"))
		}
		w.let("k")
		for _, got := range waiting {
			w.release(w.granted(got))
		}
	})
}
