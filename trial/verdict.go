package trial

import (
	"path/filepath"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// verdictFile is the content of a trial's verdict.json.
type verdictFile struct {
	Outcome  Outcome            `json:"outcome"`
	Kind     locks.Kind         `json:"kind"`
	Flaws    []Flaw             `json:"flaws"`
	Verdicts []checker.Verdict  `json:"verdicts"`
	Hits     int                `json:"hits"`
	Progress *progress.Measures `json:"progress,omitempty"`
	// Sizes and hashes of the evidence that was judged.
	Ops      int    `json:"ops"`
	Commands int    `json:"commands"`
	Keys     int    `json:"keys"` // changes of keys
	Hash     string `json:"hash,omitempty"`
	Promised string `json:"promised,omitempty"`
	Err      string `json:"error,omitempty"`
	// Shrinking says how a minimal trial came about, or why there is none.
	Shrinking *Shrinking `json:"shrinking,omitempty"`
	// Remedied says what remedies do about the flaws; nil = none was tried.
	Remedied *remedy.Effects `json:"remedied,omitempty"`
}

func verdictOf(t Result) verdictFile {
	return verdictFile{Outcome: t.Outcome, Kind: t.Kind, Flaws: t.Flaws, Verdicts: t.Verdicts, Hits: t.Hits, Progress: t.Progress,
		Ops: t.Ops, Commands: t.Commands, Keys: t.Keys, Hash: t.Hash, Promised: t.Promised, Err: t.Err, Shrinking: t.Shrinking, Remedied: t.Remedied}
}

// WriteVerdict writes a folder's verdict.json, compressed if the history beside it is.
func WriteVerdict(folder string, t Result) error { return verdictOf(t).write(folder) }

func (v verdictFile) write(folder string) error {
	path := filepath.Join(folder, VerdictFile)
	if strings.HasSuffix(packed.Find(filepath.Join(folder, HistoryFile)), packed.Suffix) {
		return packed.WriteJSONPacked(path, v)
	}
	if err := packed.Remove(path); err != nil { // an earlier trial's file, perhaps compressed
		return err
	}
	return packed.WriteJSON(path, v)
}

// Load reads a judged trial back from its folder, without Dir and the fields that are not stored
// there, such as Elapsed. Errors are input.Errors that name the file.
func Load(folder string) (Result, history.Evidence, error) {
	r, err := LoadRecord(folder)
	if err != nil {
		return Result{}, history.Evidence{}, err
	}
	v, err := loadVerdict(folder)
	t := Result{Outcome: v.Outcome, Kind: v.Kind, Flaws: v.Flaws, Verdicts: v.Verdicts, Hits: v.Hits,
		Ops: v.Ops, Commands: v.Commands, Keys: v.Keys, Hash: v.Hash, Promised: v.Promised, Err: v.Err, Progress: v.Progress, Shrinking: v.Shrinking, Remedied: v.Remedied}
	if r.Spec != nil {
		t.Spec = *r.Spec
	}
	return t, r.Evidence, err
}

func loadVerdict(folder string) (v verdictFile, err error) {
	err = packed.ReadJSON(filepath.Join(folder, VerdictFile), &v)
	return v, err
}

// Label writes a Shrinking, which says why there is no smaller trial, into a stored trial's
// verdict.json.
func Label(folder string, s Shrinking) error {
	v, err := loadVerdict(folder)
	if err != nil {
		return err
	}
	v.Shrinking = &s
	return v.write(folder)
}

// SetRemedied stores the effects of remedies with a judged trial that is stored in a folder.
func SetRemedied(folder string, r remedy.Effects) error {
	v, err := loadVerdict(folder)
	if err != nil {
		return err
	}
	v.Remedied = &r
	return v.write(folder)
}
