package corpus

import (
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/internal/input"
)

// RecordedList, in a clone of the repository, lists trials that are stored with their evidence: trials
// that ran on real Redis, and the counterexamples of the documentation.
const RecordedList = "campaign/corpus/recorded.jsonl"

// Recorded is a stored trial. Its verdict is computed from its files.
type Recorded struct {
	// Folder is the trial's folder, relative to the list's.
	Folder string `json:"folder"`
	Line
}

// ReadRecorded reads a list of stored trials, and makes their folders relative to the working
// directory. The error is an input.Error that names the file and the line.
func ReadRecorded(path string) (all []Recorded, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, input.Errorf("recorded trials: %w", err)
	}
	seen := map[string]string{}
	err = eachLine(path, text, func(at string, text []byte) error {
		r := Recorded{Line: Line{at: at}}
		if err := decode(text, &r); err != nil {
			return input.Errorf("%s: expected a stored trial as a line of JSON: %w", at, err)
		}
		if r.Folder == "" {
			return input.Errorf("%s: expected the folder of a stored trial", at)
		}
		if first, twice := seen[r.Folder]; twice {
			return input.Errorf("%s: %s is already in %s: expected each trial once", at, r.Folder, first)
		}
		seen[r.Folder] = at
		r.Folder = filepath.Join(filepath.Dir(path), filepath.FromSlash(r.Folder))
		all = append(all, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
