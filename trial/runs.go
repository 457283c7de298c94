package trial

import (
	"slices"
	"time"
)

// EarlierRun is a run of a trial after which the trial was run again, because the run left
// something open: the machine had stalled the harness, nodes had elected another primary without a
// fault, or two events came too close together to be ordered.
type EarlierRun struct {
	// Doubtful are the undeclared flaws in doubt after this run: the run's own, and those of
	// earlier runs that it did not settle.
	Doubtful []Flaw `json:"doubtful,omitempty"`
	// Dir is the folder of the run's evidence, relative to the campaign's; "" if not kept.
	Dir string `json:"dir,omitempty"`
	// Recorded: the run showed a violation and is a Result of its own.
	Recorded bool `json:"recorded,omitempty"`
	// Stall is Result.Stall of this run.
	Stall time.Duration `json:"stall,omitempty"`
}

// LongestStall returns the longest stall that spoilt t or an earlier run of t that is no Result of its
// own; 0 if there is none.
func (t Result) LongestStall() time.Duration {
	longest := t.Stall
	for _, r := range t.Runs {
		if !r.Recorded {
			longest = max(longest, r.Stall)
		}
	}
	return longest
}

// Unplanned says whether the trial is an extra attempt to settle a doubt: an earlier run of the
// trial is recorded as a result of its own, and counts as the planned one.
func (t Result) Unplanned() bool {
	return slices.ContainsFunc(t.Runs, func(r EarlierRun) bool { return r.Recorded })
}

// Settled returns the flaws that earlier runs left in doubt and that t neither shows nor
// leaves in doubt, worst first.
func (t Result) Settled() []Flaw {
	var all []Flaw
	for _, r := range t.Runs {
		all = append(all, r.Doubtful...)
	}
	return slices.DeleteFunc(Distinct(all), func(f Flaw) bool {
		return slices.ContainsFunc(t.Doubtful, f.Same) || slices.ContainsFunc(t.Flaws, f.Same)
	})
}

// DoubtDir returns the folder of the run in which the latest doubt began. That is the last of t.Runs
// whose folder was kept and that shares no doubt with the run before it. The folder is relative to
// the campaign's; "" if there is none.
func (t Result) DoubtDir() (dir string) {
	var open []Flaw
	for _, r := range t.Runs {
		same := func(f Flaw) bool { return slices.ContainsFunc(open, f.Same) }
		if r.Dir != "" && !slices.ContainsFunc(r.Doubtful, same) {
			dir = r.Dir
		}
		open = r.Doubtful
	}
	return dir
}
