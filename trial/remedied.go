package trial

import (
	"slices"
	"strings"
)

// Remedied says what remedies do about a minimal trial's flaws (package trial/remedies).
type Remedied struct {
	// Variations is the number of slightly different trials in which each remedy was tried again, and Shown
	// how many of them show the violation without a remedy.
	Variations int `json:"variations"`
	Shown      int `json:"shown"`
	// Tried are the remedies with an effect: those that are enough first.
	Tried []Tried `json:"tried,omitempty"`
}

// Tried is the effect of a remedy, or of two together, on a trial. Flaws are compared by their oracles.
type Tried struct {
	Remedies []string `json:"remedies"`
	// Gone are the oracles that are not violated any more, in any variation.
	Gone []string `json:"gone"`
	// Left are flaws of oracles that are still violated, and Instead flaws of oracles that were not violated.
	Left    []Flaw `json:"left,omitempty"`
	Instead []Flaw `json:"instead,omitempty"`
}

// Enough reports whether nothing is violated any more.
func (t Tried) Enough() bool { return len(t.Left)+len(t.Instead) == 0 }

// Same reports whether both say the same.
func (t Tried) Same(u Tried) bool {
	return slices.Equal(t.Remedies, u.Remedies) && slices.Equal(t.Gone, u.Gone) && slices.Equal(t.Left, u.Left) && slices.Equal(t.Instead, u.Instead)
}

// Name returns the names of the remedies: "unique-token+owner-checked-release".
func (t Tried) Name() string { return strings.Join(t.Remedies, "+") }

// SetRemedied stores the effects of remedies with a minimal trial that is stored in a folder.
func SetRemedied(folder string, r Remedied) error {
	v, err := loadVerdict(folder)
	if err != nil {
		return err
	}
	if v.Shrinking == nil {
		v.Shrinking = &Shrinking{}
	}
	v.Shrinking.Remedied = &r
	return v.write(folder)
}
