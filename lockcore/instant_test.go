package lockcore

import (
	"testing"
	"time"
)

func TestInstantsDoNotOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from Instant
		add  time.Duration
		want Instant
	}{
		{0, 0, 0},
		{5, 7, 12},
		{5, -7, -2},
		{0, Forever, Never},
		{1, Forever, Never},
		{1, Forever - 1, Never},
		{1, Forever - 2, Never - 1},
		{Never, 1, Never},
		{Never, Forever, Never},
		{Never, -1, Never - 1},
		{Never - 1, 1, Never},
		{-5, Forever, Never - 5},
	} {
		if got := c.from.Add(c.add); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.from, c.add, got, c.want)
		}
	}
}

func TestWhatIsLeftIsNeverNegative(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, now Instant
		want    time.Duration
	}{
		{12, 5, 7},
		{5, 5, 0},
		{5, 12, 0},
		{Never, 5, Forever},
		{Never, Never, Forever},
		{Never - 1, 1, Forever - 2},
	} {
		if got := c.at.Until(c.now); got != c.want {
			t.Errorf("from %d until %d there is %d, want %d", c.now, c.at, got, c.want)
		}
	}
}
