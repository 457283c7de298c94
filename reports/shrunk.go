package reports

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/trial"
)

// asItRan says of a trial that there is no smaller one.
const asItRan = "Not shrunk: the trial as it ran"

// origin says how a trial came about: shrunk from another, or as it ran, with the
// reason why it was not shrunk, if there is one, or with the way to the smaller one
// that is stored below its folder.
func origin(folder string, s *trial.Shrinking) string {
	if _, err := os.Stat(filepath.Join(folder, trial.MinimalFolder, trial.VerdictFile)); err == nil {
		return fmt.Sprintf("The trial as it ran; a smaller one that shows the same is in [%s](%s)",
			trial.MinimalFolder, path.Join(trial.MinimalFolder, CounterexampleFile))
	}
	return originWords(s)
}

// originWords are origin's but for what is stored.
func originWords(s *trial.Shrinking) string {
	switch {
	case s == nil:
		return asItRan
	case s.NotShrunk:
		return asItRan + " (" + s.Unfinished + ")"
	}
	return fmt.Sprintf("Shrunk, in %d %s, from the trial as it first ran: %s", s.Trials, prose.Plural(s.Trials, "trial"), s.Words())
}
