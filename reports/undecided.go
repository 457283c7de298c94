package reports

import (
	"fmt"
	"path"

	"github.com/lockstorm/lockstorm/internal/wording"
)

// openCell is a cell with undecided trials, or with a doubt, which is a possible undeclared
// violation. Dir is the folder of its first kept undecided or doubtful trial; "" if none was kept.
type openCell struct {
	Text, Dir string
	Commands  []command
}

// undecidedAdvice says what to do about undecided trials.
const undecidedAdvice = "These trials are undecided: they count neither for nor against their recipe. " +
	"Each line names the first of its cell. Look at its history, and run it again: on real Redis a second run may decide it, above all if the machine was busy; " +
	"in the simulation a second run gives the same result, and the reason lies in the trial itself."

// openCells returns the cells that have a verdict but also undecided trials, then the cells with a
// possible undeclared violation.
func (r result) openCells() []openCell {
	var out []openCell
	add := func(text, dir string) {
		o := openCell{Text: text, Dir: dir}
		if dir != "" {
			folder := wording.Quote(path.Join(r.Matrix.Store, dir))
			o.Commands = []command{{"run this trial again", "lockstorm replay " + folder}, {"judge the stored trial again", "lockstorm check " + folder}}
		}
		out = append(out, o)
	}
	for _, c := range undecided(r.Matrix) {
		add(openWords(c), c.UndecidedDir)
	}
	for _, d := range r.Matrix.Doubtful {
		add(fmt.Sprintf("%s under %s: %s", d.Lock, d.Fault, d.Words()), d.Dir)
	}
	return out
}
