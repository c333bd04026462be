package command

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// durationValue is a flag's duration of at least least.
type durationValue struct {
	value *time.Duration
	least time.Duration
	// zero, if set, says what to write instead of 0.
	zero string
}

var _ pflag.Value = (*durationValue)(nil)

func (d *durationValue) Type() string { return "duration" }

// String is also what --help shows as the default, which is none for 0.
func (d *durationValue) String() string {
	if d.value == nil || *d.value == 0 {
		return ""
	}
	return d.value.String()
}

func (d *durationValue) Set(text string) error {
	if number, err := strconv.ParseFloat(text, 64); err == nil && number != 0 {
		return fmt.Errorf("it needs a unit: write %ss for seconds", text)
	}
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("expected a duration, such as 10s or 1m30s")
	case value == 0 && d.zero != "":
		return errors.New(d.zero)
	case value < 0:
		return errors.New("it must not be negative")
	case value < d.least:
		return fmt.Errorf("it must be at least %s", d.least)
	}
	*d.value = value
	return nil
}
