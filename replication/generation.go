package replication

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/caddylock/caddylock/lockcore"
)

// believable is the greatest generation that a clock is believed: a broken one
// must not use up the range for ever. A file is believed more: what starts and
// full counters have added since.
const (
	believable       = lockcore.MaxGeneration - 1<<24
	believableStored = believable + 1<<23
)

// generations chooses the node's generations and keeps their bound in storage.
//
// No token of a generation above the bound stored is ever issued: it is moved one
// ahead before the token counter is full, which then moves on without waiting.
type generations struct {
	storage Storage
	key     string
}

// last returns the bound stored; 0 if there is none.
func (g *generations) last(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	text, err := g.storage.Load(ctx, g.key)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the last generation: %w", err)
	}
	last, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil || last > believableStored {
		return 0, fmt.Errorf("reading the last generation: %s holds %.40q, which is none", g.key, text)
	}
	return last, nil
}

// store makes bound the last generation, and every state written under another
// one void.
func (g *generations) store(ctx context.Context, bound uint64) error {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	if err := g.storage.Store(ctx, g.key, strconv.AppendUint(nil, bound, 10)); err != nil {
		return fmt.Errorf("storing generation %d: %w", bound, err)
	}
	return nil
}

// nextGeneration is greater than every one used before, by the clock and by the
// storage, whichever remembers more.
func nextGeneration(last uint64, now time.Time) uint64 {
	next := last + 1
	if seconds := now.Unix(); seconds > 0 && uint64(seconds) <= believable {
		next = max(next, uint64(seconds))
	}
	return next
}
