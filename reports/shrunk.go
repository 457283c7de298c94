package reports

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// asItRan is the origin of a trial that was not shrunk from another.
const asItRan = "Not shrunk: the trial as it ran"

// origin says how a trial came about: shrunk from another trial, or as it ran. For a trial as it
// ran, the text links to the minimal trial below its folder or says, if known, why the trial was
// not shrunk. showsAll says whether the minimal trial shows all of the trial's flaws.
func origin(folder string, s *trial.Shrinking, showsAll bool) string {
	if _, err := os.Stat(packed.Find(filepath.Join(folder, trial.MinimalFolder, trial.VerdictFile))); err != nil {
		return originWords(s)
	}
	same := "some of its flaws"
	if showsAll {
		same = "the same, with its story and verdicts,"
	}
	return fmt.Sprintf("The trial as it ran; a smaller one that shows %s is in %s", same, minimalLink)
}

// minimalLink leads from a trial's folder to its minimal trial. The pages of a campaign have no such links.
const minimalLink = "[" + trial.MinimalFolder + "](" + trial.MinimalFolder + "/" + CounterexampleFile + ")"

// showsAll reports whether the flaws of a minimal trial include all flaws of the trial that it was shrunk
// from.
func showsAll(minimal, whole []trial.Flaw) bool {
	return !slices.ContainsFunc(whole, func(f trial.Flaw) bool { return !slices.ContainsFunc(minimal, f.Same) })
}

// originWords is origin without the check for a stored minimal trial.
func originWords(s *trial.Shrinking) string {
	switch {
	case s == nil:
		return asItRan
	case s.NotShrunk:
		return asItRan + " (" + s.Unfinished + ")"
	case s.Trials == 0:
		return "Shrunk, as the corpus has it, from the trial as it first ran: " + s.Words()
	}
	return fmt.Sprintf("Shrunk, in %d %s, from the trial as it first ran: %s", s.Trials, wording.Plural(s.Trials, "trial"), s.Words())
}

// shrunkWords says how the trial behind a cell's story came about, and which of the cell's flaws
// have no shrunk trial, and why.
func (r result) shrunkWords(c campaign.Cell, dir string) string {
	x := r.Details[dir]
	words := cmp.Or(x.Shrunk, asItRan)
	if words == asItRan {
		why := r.whyNotShrunk(c)
		if dir != c.Dir {
			why = oneIsShrunk
		}
		if why != "" {
			words += " (" + why + ")"
		}
	}
	if dir != c.Minimal {
		return words
	}
	if left := notShownBy(c, x.Flaws); len(left) > 0 {
		words += ". It does not show " + strings.Join(left, ", ") + ": not shrunk, since " + oneIsShrunk
	}
	return words
}

// oneIsShrunk is the reason why only some flaws of a cell have a shrunk trial.
const oneIsShrunk = "of each cell one trial is shrunk, for its worst flaw"

// notShownBy names the flaws of a cell that are not among the given flaws of a trial; none if the
// trial's flaws are unknown.
func notShownBy(c campaign.Cell, flaws []trial.Flaw) (names []string) {
	if len(flaws) == 0 {
		return nil
	}
	for _, f := range c.Flaws {
		if !slices.ContainsFunc(flaws, f.Same) {
			names = append(names, f.Oracle+" by "+f.Cause)
		}
	}
	return names
}

// whyNotShrunk says why a cell with a violation has no shrunk trial; "" if that is unknown.
func (r result) whyNotShrunk(c campaign.Cell) string {
	switch {
	case r.Details[c.Dir].NotShrunk != "":
		return r.Details[c.Dir].NotShrunk
	case !r.Info.Deterministic:
		return "on real time no trial is shrunk"
	case r.Info.Config.Shrink <= 0:
		return "the run had --shrink 0"
	case r.Matrix.Interrupted:
		return "the run was interrupted before"
	}
	return ""
}

// mostNotShrunk is the maximum number of cells that shrunkCount names for each reason.
const mostNotShrunk = 5

// shrunkCount says how many violated cells have a shrunk trial. It names the other cells with their
// causes, grouped by reason. It returns "" if no cell has a violation.
func (r result) shrunkCount() string {
	var whole []campaign.Cell // the cells without a shrunk trial
	violated := 0
	for _, c := range r.Matrix.Cells {
		if c.Verdict == trial.Violated || c.Verdict == trial.Blocked {
			violated++
			if c.Minimal == "" {
				whole = append(whole, c)
			}
		}
	}
	if violated == 0 {
		return ""
	}
	text := fmt.Sprintf("the trials of %d of %d violated %s", violated-len(whole), violated, wording.Plural(violated, "cell"))
	for _, g := range groupBy(whole, func(c campaign.Cell) string { return cmp.Or(r.whyNotShrunk(c), "why is unknown") }) {
		if len(g.Items) == violated {
			text += "; " + g.Key
			continue
		}
		more := ""
		if n := len(g.Items) - mostNotShrunk; n > 0 {
			g.Items, more = g.Items[:mostNotShrunk], fmt.Sprintf(" and %d more", n)
		}
		text += "; not shrunk, since " + g.Key + ": " + strings.Join(texts(g.Items, func(c campaign.Cell) string {
			return fmt.Sprintf("%s under %s (%s)", c.Lock, c.Fault, strings.Join(c.Causes, ", "))
		}), ", ") + more
	}
	return text
}

// Minimal writes the pictures and the story of a minimal trial into its folder. The story
// says what the trial was shrunk from.
func Minimal(folder string, t trial.Result, e history.Evidence) error {
	_, err := registries().render(folder, filepath.ToSlash(folder), originWords(t.Shrinking), layout{pictures: true}, t, e)
	return err
}
