package load

import "testing"

func TestParseWorkload(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Workload{
		"1x1":           {1, 1, false},
		"8x64":          {8, 64, false},
		"1000x1000":     {1000, 1000, false},
		"contended64":   {64, 1, true},
		"contended1000": {1000, 1, true},
	} {
		got, err := ParseWorkload(name)
		if err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", name, got, err, want)
		}
		if got.String() != name {
			t.Errorf("%+v calls itself %s, want %s", got, got, name)
		}
	}
}

func TestParseWorkloadRefusesOtherNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "x", "8", "8x", "x8", "0x1", "1x0", "-1x1", "+1x1", "1001x1", "1x1001", "8x8x8", "8 x 8",
		"contended", "contended0", "contended1001", "contended8x8", "Contended8", "99999999999999999999x1",
	} {
		if w, err := ParseWorkload(name); err == nil {
			t.Errorf("%q was read as %+v", name, w)
		}
	}
}

func TestWorkloadsCanBeParsed(t *testing.T) {
	t.Parallel()
	for _, d := range Workloads() {
		if w, err := ParseWorkload(d.Name); err != nil || w.String() != d.Name || d.Text == "" {
			t.Errorf("%+v is read as %s, %v", d, w, err)
		}
	}
}
