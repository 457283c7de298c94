package reports

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// asItRan is the origin of a trial that was not shrunk.
const asItRan = "Not shrunk: the trial as it ran"

// origin says how a trial came about: shrunk from another trial, or as it ran. The latter
// comes with a link to the minimal trial below its folder, or with the reason, if known,
// why the trial was not shrunk.
func origin(folder string, s *trial.Shrinking) string {
	if _, err := os.Stat(packed.Find(filepath.Join(folder, trial.MinimalFolder, trial.VerdictFile))); err == nil {
		return fmt.Sprintf("The trial as it ran; a smaller one that shows the same is in [%s](%s)",
			trial.MinimalFolder, path.Join(trial.MinimalFolder, CounterexampleFile))
	}
	return originWords(s)
}

// originWords is origin without a look for a stored minimal trial.
func originWords(s *trial.Shrinking) string {
	switch {
	case s == nil:
		return asItRan
	case s.NotShrunk:
		return asItRan + " (" + s.Unfinished + ")"
	}
	return fmt.Sprintf("Shrunk, in %d %s, from the trial as it first ran: %s", s.Trials, wording.Plural(s.Trials, "trial"), s.Words())
}
