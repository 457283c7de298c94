package trial

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/packed"
)

// A compressed trial is judged like a plain one. This holds for intact, changed and truncated
// files, and whether the path names the folder or the history.
func TestACompressedTrialIsJudgedAsAPlainOne(t *testing.T) {
	var ops []history.Op
	for i := range 200 {
		ops = append(ops, history.Op{Index: i, Process: history.Nemesis, Client: history.NoClient, Type: history.Info, F: history.FHealed})
	}
	e := history.Evidence{Ops: ops, Commands: []history.Command{{Args: []history.Bytes{"PING"}}}, Watched: true}
	save := func(folder string, compressed bool) {
		t.Helper()
		w := newTrialWriter(folder, storedSpec{Spec: Spec{Testbed: "sim"}, Watched: true})
		w.copy(e.Ops)
		hash, err := w.close(e)
		err = errors.Join(err, w.save(compressed), WriteVerdict(folder, Result{Hash: hash, Ops: len(ops), Commands: 1}))
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(t.TempDir(), "trial")
	standing := func(path string) Standing {
		t.Helper()
		r, err := LoadJudged(path)
		if err != nil {
			t.Fatal(err)
		}
		return r.Standing
	}
	file := filepath.Join(folder, HistoryFile)
	save(folder, false)
	save(folder, true) // replaces the plain files
	if err := Label(folder, Shrinking{NotShrunk: true}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{HistoryFile, CommandsFile, KeysFile, SpecFile, VerdictFile} {
		plain := filepath.Join(folder, name)
		if _, err := os.Stat(plain); !errors.Is(err, os.ErrNotExist) || packed.Find(plain) == plain {
			t.Errorf("%s is stored as %s (%v)", name, packed.Find(plain), err)
		}
	}
	if got, _, err := Load(folder); err != nil || got.Ops != len(ops) || got.Shrinking == nil {
		t.Errorf("the compressed verdict is read as %+v, %v", got, err)
	}
	for _, path := range []string{folder, file, file + packed.Suffix} {
		if got := standing(path); got != Vouched {
			t.Errorf("%s: %s, want %s", path, got, Vouched)
		}
	}
	if info, err := os.Stat(file + packed.Suffix); err != nil || os.Truncate(file+packed.Suffix, info.Size()-1) != nil {
		t.Fatal(err)
	}
	if r, err := LoadJudged(folder); err != nil || r.Standing != Partial || len(r.Truncated) != 1 || !strings.Contains(r.Truncated[0].Error(), HistoryFile+packed.Suffix) {
		t.Errorf("cut short: %+v, %v", r, err)
	}
	save(folder, true)
	e.Commands[0].Args[0] = "PONG"
	if err := packed.WriteFile(filepath.Join(folder, CommandsFile), append(e.Commands[0].AppendJSON(nil), '\n')); err != nil {
		t.Fatal(err)
	}
	if got := standing(folder); got != Changed {
		t.Errorf("changed: %s, want %s", got, Changed)
	}
	save(folder, false)
	verdict := filepath.Join(folder, VerdictFile)
	if got := standing(folder); got != Vouched || packed.Find(verdict) != verdict {
		t.Errorf("plain again: %s, verdict in %s", got, packed.Find(verdict))
	}
}
