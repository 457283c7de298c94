package campaign

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// storedTrial runs a trial in the simulation and stores it: during the run if stream is set, else
// at the end.
func storedTrial(t *testing.T, stream bool) (folder string, result trial.Result) {
	t.Helper()
	tb, c := sim.New(), DefaultConfig()
	s := specOf(t, tb, c, "set-nx-px", "none", "mutex", 0)
	folder = t.TempDir()
	d, err := trial.Execute(t.Context(), tb, trial.Task{Spec: s, Folder: folder, Keep: true, Stream: stream}, new(sync.Mutex), nil)
	if err != nil || d.Trial.Err != "" {
		t.Fatal(err, d.Trial.Err)
	}
	return folder, d.Trial
}

// Key changes are stored with the trial. The files have the evidence that was judged, and are the
// same whether they are written during the trial or at its end.
func TestKeyChangesAreStoredWithTheTrial(t *testing.T) {
	var files [][]byte
	for _, stream := range []bool{false, true} {
		folder, result := storedTrial(t, stream)
		r, err := trial.LoadJudged(folder)
		if err != nil || r.Differs != nil || !r.Evidence.Watched {
			t.Fatalf("stream %t: %v, %v, watched %t", stream, err, r.Differs, r.Evidence.Watched)
		}
		if n := len(r.Evidence.Keys); n == 0 || n != result.Keys || history.Hash(r.Evidence) != result.Hash {
			t.Errorf("stream %t: %d changes and hash %s are stored, judged were %d and %s", stream, n, history.Hash(r.Evidence), result.Keys, result.Hash)
		}
		loaded, _, err := trial.Load(folder)
		if err != nil || loaded.Keys != result.Keys {
			t.Errorf("stream %t: verdict.json tells of %d changes, %v", stream, loaded.Keys, err)
		}
		data, err := os.ReadFile(filepath.Join(folder, trial.KeysFile))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("another file if it is written as it happens")
	}
}

// editJSON changes a JSON file's members.
func editJSON(t *testing.T, path string, change func(map[string]any)) {
	t.Helper()
	var v map[string]any
	if err := packed.ReadJSON(path, &v); err != nil {
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
