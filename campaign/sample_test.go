package campaign

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/trial"
)

// answering is a pool whose workers make a task's folder and return done and err.
type answering struct {
	done trial.Done
	err  error
}

func (w answering) Run(_ context.Context, t trial.Task, _ func(history.Command)) (trial.Done, error) {
	return w.done, errors.Join(w.err, trial.MakeFolder(t.Folder))
}
func (answering) Renew() {}
func (answering) Close() {}

func TestOfTheSampleOnlyWhatDiffersStays(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	tests := map[string]struct {
		ctx           context.Context
		workers       answering
		lock          string
		first, second bool // whether the first and the second folder exist in the end
		err           string
		varies        bool
	}{
		"the same":               {t.Context(), answering{done: trial.Done{Trial: trial.Result{Hash: "a"}}}, trialtest.Sound, false, false, "", false},
		"another":                {t.Context(), answering{done: trial.Done{Trial: trial.Result{Hash: "b"}}}, trialtest.Sound, true, true, "", true},
		"another of our recipes": {t.Context(), answering{done: trial.Done{Trial: trial.Result{Hash: "b"}}}, "set-nx-px", true, true, "is not deterministic", false},
		"judged in another way":  {t.Context(), answering{done: trial.Done{Trial: trial.Result{Hash: "a", Hits: 1}}}, trialtest.Sound, true, true, "", true},
		"a failure":              {t.Context(), answering{done: trial.Done{Trial: trial.Result{Err: "lost"}}}, trialtest.Sound, false, true, "failed when it was run again", false},
		"no worker":              {t.Context(), answering{err: errors.New("no worker")}, trialtest.Sound, false, false, "no worker", false},
		"not run again":          {stopped, answering{}, trialtest.Sound, false, false, "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := soundSpec()
			s.Lock = test.lock
			r := &run{store: &store{dir: t.TempDir()}, workers: test.workers, sample: []trial.Result{{Spec: s, Hash: "a"}}}
			r.Config.Parallel = 1
			first := filepath.Join(r.store.dir, trial.Folder(s))
			if err := trial.MakeFolder(first); err != nil {
				t.Fatal(err)
			}
			r.repeat(test.ctx)
			for path, want := range map[string]bool{first: test.first, first + "-again": test.second} {
				if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) == want {
					t.Errorf("%s: got %v, want it there: %v", filepath.Base(path), err, want)
				}
			}
			if (r.err == nil) != (test.err == "") || r.err != nil && !strings.Contains(r.err.Error(), test.err) {
				t.Errorf("got %v, want %q", r.err, test.err)
			}
			if r.info.varies(s.Lock) != test.varies {
				t.Errorf("got %v, want it marked: %v", r.info.Varying, test.varies)
			}
		})
	}
}
