package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/trial"
)

// pace says how many trials a campaign ran in how much time; on virtual time also how much
// virtual time passed, and which command reproduces a violation.
func pace(s campaign.Stored) []string {
	took := s.Info.Elapsed
	if took <= 0 || len(s.Trials) == 0 {
		return nil
	}
	line := fmt.Sprintf("%s in %s, %.3g a second", count(s.Ran(), "trial"), reports.Roughly(took), float64(s.Ran())/took.Seconds())
	lines := []string{line + repeated(s)}
	if f := s.Info.Further; f != nil {
		lines = append(lines, f.Words())
	}
	if v := s.Virtual(); v > 0 {
		lines = append(lines, fmt.Sprintf("virtual time: %s in %s (%.0fx)", reports.Roughly(v), reports.Roughly(took), v.Seconds()/took.Seconds()))
	}
	if c, ok := worst(s.Matrix); ok && s.Info.Deterministic {
		lines = append(lines, fmt.Sprintf("to see a violation again, %s under %s for one: %s", c.Lock, c.Fault, c.Replay))
	}
	return lines
}

// repeated says what came of the trials that were run again: the end of a line.
func repeated(s campaign.Stored) string {
	var varying []string
	for _, v := range s.Info.Varying {
		varying = append(varying, v.Lock)
	}
	slices.Sort(varying)
	differed := strings.Join(slices.Compact(varying), " and ")
	identical := fmt.Sprintf("; %s repeated: identical", count(s.Repeated, "trial"))
	switch {
	case differed == "" && s.Repeated == 0:
		return ""
	case differed == "":
		return identical
	case s.Repeated == 0:
		return "; trials of " + differed + ", repeated, differed"
	}
	return identical + "; other trials of " + differed + " differed"
}

// worst returns the violated cell to look at first: an unexpected one, else the first with
// a bug, else the first.
func worst(m campaign.Matrix) (worst campaign.Cell, ok bool) {
	rank := func(c campaign.Cell) int {
		switch {
		case c.Verdict != trial.Violated && c.Verdict != trial.Blocked || c.Replay == "":
			return 0
		case c.Verdict == trial.Violated && c.Kind == "":
			return 4
		case c.Verdict == trial.Violated && c.Kind == locks.Bug:
			return 3
		case c.Verdict == trial.Violated:
			return 2
		}
		return 1
	}
	for _, c := range m.Cells {
		if rank(c) > rank(worst) {
			worst = c
		}
	}
	return worst, rank(worst) > 0
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
