package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/cmd/lockstorm/check"
	"github.com/lockstorm/lockstorm/history/applog"
	"github.com/lockstorm/lockstorm/history/jepsen"
	"github.com/lockstorm/lockstorm/internal/input"
)

type checkFlags struct {
	model      string
	values     string
	clockError time.Duration
	timeline   string
	export     string
	out        string
	json       bool
	quiet      bool
}

// contradictions returns an input.Error if a flag has an unknown value, or if the flags contradict
// each other.
func (f checkFlags) contradictions() error {
	if f.model != "" {
		if _, ok := linear.ModelNamed(f.model); !ok {
			return input.Errorf("--model %q: expected one of %s", f.model, check.ModelWords())
		}
	}
	switch {
	case f.values != "" && f.values != string(jepsen.ValuesLock) && f.values != string(jepsen.ValuesToken):
		return input.Errorf("--values %q: expected %s or %s", f.values, jepsen.ValuesLock, jepsen.ValuesToken)
	case f.export != "" && !slices.Contains(check.ExportNames(), f.export):
		return input.Errorf("--export %q: expected one of %s", f.export, strings.Join(check.ExportNames(), ", "))
	case f.out != "" && f.export == "":
		return input.Errorf("--out %s: expected --export with it", f.out)
	case f.export != "" && (f.json || f.timeline != ""):
		return input.Errorf("--export %s: expected neither --json nor --timeline with it: nothing is judged", f.export)
	case f.timeline != "" && !check.Drawable(f.timeline):
		return input.Errorf("--timeline %s: expected a name that ends in .svg or .html", f.timeline)
	}
	return nil
}

// unsaid stands for a duration that the user did not state.
const unsaid = time.Duration(-1)

// durationOr is a flag for an optional duration of at least 0.
type durationOr struct{ d *time.Duration }

func newDurationOr(d *time.Duration) durationOr { *d = unsaid; return durationOr{d} }

// String, Set and Type implement pflag.Value.
func (v durationOr) String() string {
	if v.d == nil || *v.d < 0 {
		return ""
	}
	return v.d.String()
}

func (v durationOr) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longestDoubt {
		return fmt.Errorf("expected a duration from 0s to %s, such as 5ms", longestDoubt)
	}
	*v.d = d
	return nil
}

func (v durationOr) Type() string { return "duration" }

// longestDoubt bounds --clock-error: with a longer one nothing would be certain.
const longestDoubt = 24 * time.Hour

// fit returns an input.Error if the flags do not fit the log; log is nil for a history. If
// --clock-error and --model are both missing, one error asks for both.
func (f checkFlags) fit(path string, log *applog.Log) error {
	model := ""
	if f.model == "" && f.export == "" {
		model = ", and --model " + check.ModelWords()
	}
	switch {
	case log == nil && f.clockError != unsaid:
		return input.Errorf("%s: --clock-error is for a log of holds (CSV), and this is a history: expected none", path)
	case log != nil && f.clockError == unsaid:
		return input.Errorf("%s: processes' clocks stamped this log of holds: expected --clock-error D, the greatest error of any of these clocks (0s if one clock stamped all lines)%s", path, model)
	}
	return nil
}
