package replication

import (
	"testing"

	"github.com/caddylock/caddylock/lockcore"
)

func TestTheTimeOfAShardNeverGoesBack(t *testing.T) {
	t.Parallel()
	h := startedHost(t)
	s := &h.node.shards[0]
	for _, told := range []struct{ now, want lockcore.Instant }{{1 << 50, 1 << 50}, {5, 1 << 50}, {1<<50 + 1, 1<<50 + 1}} {
		at, ok := s.lock(told.now)
		s.mu.Unlock()
		if at != told.want || !ok {
			t.Errorf("told %d, the shard is at %d (serving: %t), want %d", told.now, at, ok, told.want)
		}
	}
}

func TestAKeyIsAlwaysInTheSameShard(t *testing.T) {
	t.Parallel()
	first, second := NewNode(), NewNode()
	used := make(map[int]bool)
	for i := range 10_000 {
		key := []byte{byte(i), byte(i >> 8)}
		at := indexOf(first, key)
		if indexOf(second, key) != at {
			t.Fatalf("%q is in another shard of another node", key)
		}
		used[at] = true
	}
	if len(used) != numShards {
		t.Errorf("ten thousand keys are in %d shards of %d", len(used), numShards)
	}
}

func indexOf(n *Node, key []byte) int {
	for i := range n.shards {
		if n.shardOf(key) == &n.shards[i] {
			return i
		}
	}
	return -1
}
