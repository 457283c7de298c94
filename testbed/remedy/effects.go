package remedy

import (
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/internal/wording"
)

// Effects says what remedies do about a trial's violations (package trial/remedies).
type Effects struct {
	// Variations is the number of slightly different trials in which each remedy was tried again, and Shown
	// how many of them show the violation without a remedy.
	Variations int `json:"variations"`
	Shown      int `json:"shown"`
	// Tried are the remedies with an effect: those that are enough first.
	Tried []Effect `json:"tried,omitempty"`
	// Others says why the other remedies have no effect. A remedy that is not there had nothing to do.
	Others map[string]Why `json:"others,omitempty"`
}

// Why says why a remedy has no effect.
type Why string

// Reasons why a remedy has no effect. After InVain, the remedy is known to be none; after the others, nothing is known.
const (
	InVain    Why = "in vain"
	Idle      Why = "here it had nothing to do"
	Missed    Why = "with it the fault hit nothing"
	Differs   Why = "the trial differed before it acted"
	Undecided Why = "undecided"
	NoTime    Why = "there was no time"
)

// Effect is what a remedy, or two together, do about a trial's violations. Violations are named by their oracles, those
// of liveness also by whether they are for ever.
type Effect struct {
	Remedies []string `json:"remedies"`
	// Gone are the violations that are gone, in every variation.
	Gone []string `json:"gone"`
	// Left are violations that are still there, Instead those that were not there, and Undecided the oracles that
	// allow no verdict any more.
	Left      []string `json:"left,omitempty"`
	Instead   []string `json:"instead,omitempty"`
	Undecided []string `json:"undecided,omitempty"`
}

// Enough reports whether nothing is violated any more.
func (e Effect) Enough() bool { return len(e.Left)+len(e.Instead)+len(e.Undecided) == 0 }

// Name returns the names of the remedies: "unique-token+owner-checked-release".
func (e Effect) Name() string { return strings.Join(e.Remedies, "+") }

// Real reports whether a real measure does all that the remedies do.
func (e Effect) Real() bool {
	return !slices.ContainsFunc(e.Remedies, func(name string) bool { r, _ := Named(name); return r.Rarer })
}

// Words says what the remedies did about the violations, such as "only the violation of resource is gone, that of
// exclusion is left".
func (e Effect) Words() string {
	if e.Enough() {
		return "the violation is gone"
	}
	var parts []string
	gone, left := "the violation of "+wording.List(e.Gone)+" is gone", wording.List(e.Left)+" is left"
	switch {
	case len(e.Gone) > 0 && len(e.Left) > 0:
		parts = append(parts, "only "+gone+", that of "+left)
	case len(e.Gone) > 0:
		parts = append(parts, gone)
	case len(e.Left) > 0:
		parts = append(parts, "the violation of "+left)
	}
	if len(e.Undecided) > 0 {
		parts = append(parts, wording.List(e.Undecided)+" is undecided")
	}
	if len(e.Instead) > 0 {
		parts = append(parts, "instead: "+wording.List(e.Instead))
	}
	return strings.Join(parts, "; ")
}
