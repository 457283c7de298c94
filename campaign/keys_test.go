package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// storedTrial runs a trial in the simulation and stores it: as it happens, or in the end.
func storedTrial(t *testing.T, stream bool) (folder string, trial Trial) {
	t.Helper()
	tb, c := sim.New(), DefaultConfig()
	s, err := PlanTrial(t.Context(), tb, c, "set-nx-px", "none", "mutex", 0)
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	d, err := execute(t.Context(), tb, task{Spec: s, Folder: folder, Keep: true, Stream: stream}, new(sync.Mutex), nil)
	if err != nil || d.Trial.Err != "" {
		t.Fatal(err, d.Trial.Err)
	}
	return folder, d.Trial
}

// TestKeyChangesAreStoredWithTheTrial: however it is stored, the files are what was
// judged, and a trial that is taken down as it happens leaves the same ones.
func TestKeyChangesAreStoredWithTheTrial(t *testing.T) {
	var files [][]byte
	for _, stream := range []bool{false, true} {
		folder, trial := storedTrial(t, stream)
		r, err := LoadJudged(folder)
		if err != nil || r.Differs != nil || !r.Evidence.Watched {
			t.Fatalf("stream %t: %v, %v, watched %t", stream, err, r.Differs, r.Evidence.Watched)
		}
		if n := len(r.Evidence.Keys); n == 0 || n != trial.Keys || history.Hash(r.Evidence) != trial.Hash {
			t.Errorf("stream %t: %d changes and hash %s are stored, judged were %d and %s", stream, n, history.Hash(r.Evidence), trial.Keys, trial.Hash)
		}
		loaded, _, err := LoadTrial(folder)
		if err != nil || loaded.Keys != trial.Keys {
			t.Errorf("stream %t: verdict.json tells of %d changes, %v", stream, loaded.Keys, err)
		}
		data, err := os.ReadFile(filepath.Join(folder, KeysFile))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("another file if it is written as it happens")
	}
}

// TestNothingHoldsWithoutAllKeyChanges, and the reason is told.
func TestNothingHoldsWithoutAllKeyChanges(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(path string, data []byte) error
		want  string
	}{
		"cut short":   {func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)-9], 0o666) }, "the key changes end at "},
		"gone":        {func(path string, _ []byte) error { return os.Remove(path) }, "there are no key changes beside the history"},
		"another one": {func(path string, data []byte) error { return os.WriteFile(path, append(data, data...), 0o666) }, " key changes, not "},
	} {
		t.Run(name, func(t *testing.T) {
			folder, trial := storedTrial(t, false)
			if !trial.has(checker.Held) {
				t.Fatalf("before: %+v", trial.Verdicts)
			}
			path := filepath.Join(folder, KeysFile)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			load := LoadJudged
			if !strings.Contains(c.want, "not") {
				load = LoadRecord // knows nothing of what was judged
			}
			if err := c.spoil(path, data); err != nil {
				t.Fatal(err)
			}
			r, err := load(folder)
			if why := checker.Judged("", checker.Unknown, r.missing()).Why; err != nil || !strings.Contains(why, c.want) {
				t.Fatalf("got %q, %v, want %q", why, err, c.want)
			}
			if trial, err = Judge(t.Context(), r); err != nil || trial.has(checker.Held) {
				t.Errorf("something holds, or %v: %+v", err, trial.Verdicts)
			}
		})
	}
}

// editJSON changes a JSON file's members.
func editJSON(t *testing.T, path string, change func(map[string]any)) {
	t.Helper()
	var v map[string]any
	if err := readJSON(path, &v); err != nil {
		t.Fatal(err)
	}
	change(v)
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatAnOlderVersionStoredIsRefused(t *testing.T) {
	unnumbered := func(v map[string]any) { delete(v, "format") }
	folder, _ := storedTrial(t, false)
	editJSON(t, filepath.Join(folder, SpecFile), unnumbered)
	_, err := LoadJudged(folder)
	refused(t, err, folder+": stored by an older version, which kept no key changes: run it again with lockstorm replay "+folder)

	c := Campaign{Config: DefaultConfig(), Testbed: sim.New(), Versions: Versions{Lockstorm: "v1"}, Command: "lockstorm run --some"}
	c.Config.Store, c.Config.Locks, c.Config.Faults, c.Config.Trials = t.TempDir(), []string{"set-nx-px"}, []string{"none"}, 1
	s, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(s.Dir); err != nil {
		t.Errorf("this version's: %v", err)
	}
	editJSON(t, filepath.Join(s.Dir, CampaignFile), unnumbered)
	_, err = Load(s.Dir)
	refused(t, err, s.Dir+": stored by an older version, which kept no key changes: run it again with lockstorm run --some")
	if _, err := LoadInfo(s.Dir); err != nil {
		t.Errorf("what it was asked for: %v", err)
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	var input *InputError
	if !errors.Is(err, ErrOlder) || !errors.As(err, &input) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestARunawaysKeysAreNotAllKept: a key that grows with each command would take all
// memory.
func TestARunawaysKeysAreNotAllKept(t *testing.T) {
	rec := recorder()
	passed := 0
	l := keyLog{rec: rec, next: func(history.KeyChange) { passed++ }}
	grown := &history.KeyContent{Type: "list"}
	for i := range 4000 {
		before := grown
		grown = &history.KeyContent{Type: "list", Members: append(before.Members[:i:i], "x")}
		l.add(history.KeyChange{Index: i, Node: "n0", Key: "k", By: history.ByCommand, Before: before, After: grown})
	}
	ops := rec.Ops()
	if n := len(l.all); n == 0 || n == 4000 || n != passed {
		t.Errorf("%d of 4000 changes are kept, %d passed on", n, passed)
	}
	if len(ops) != 1 || ops[0].F != history.FUnseen || ops[0].Node != "n0" || ops[0].Error == "" {
		t.Errorf("got %+v, want one entry that n0 is unseen, and why", ops)
	}
}
