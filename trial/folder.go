package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of the files in a trial's folder.
const (
	HistoryFile  = "history.jsonl"
	CommandsFile = "commands.jsonl"
	KeysFile     = "keys.jsonl"
	SpecFile     = "spec.json"
	VerdictFile  = "verdict.json"
	// GoroutinesFile has the goroutine dump of a trial that broke down, or the report of a data race.
	GoroutinesFile = "goroutines.txt"
	// StderrSuffix follows the client's ID in the name of a file that has what the client's processes
	// (locks.Process) wrote on their standard error, such as c0.stderr.txt.
	StderrSuffix = ".stderr.txt"
)

// ResultsFile, in the directory of a trial's campaign, has a line for each Result that the campaign
// stores. Campaigns store it compressed (packed.Suffix).
const ResultsFile = "trials.jsonl"

// FolderDepth is the number of path elements from a campaign's directory to a trial's
// folder.
const FolderDepth = 4

// Folder returns a trial's folder, relative to its campaign.
func Folder(s Spec) string {
	return filepath.Join("trials", s.Lock, s.Fault, s.Workload+"-"+s.Number())
}

// RemoveFolder removes a trial's folder. It then removes the parents that are empty, but not the
// campaign's folder.
func RemoveFolder(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove the trial's folder: %w", err)
	}
	// os.Remove fails on a directory that is not empty, as intended here.
	for range FolderDepth - 1 {
		path = filepath.Dir(path)
		_ = os.Remove(path)
	}
	return nil
}

// MakeFolder makes a trial's folder, even while RemoveFolder removes empty parents.
func MakeFolder(path string) (err error) {
	for range 5 {
		if err = os.MkdirAll(path, 0o777); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("open the trial's folder: %w", err)
	}
	return nil
}
