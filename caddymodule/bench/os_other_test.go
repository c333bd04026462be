//go:build !linux

package bench

import (
	"errors"
	"time"
)

const supported = false

func cpuTime() (time.Duration, error) { return 0, errors.ErrUnsupported }

func residentBytes() (int64, error) { return 0, errors.ErrUnsupported }

func descriptorLimit() int { return 0 }
