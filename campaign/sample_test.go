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
)

// answering are workers that answer every task so, after they made its folder.
type answering struct {
	done done
	err  error
}

func (w answering) run(_ context.Context, t task, _ func(history.Command)) (done, error) {
	return w.done, errors.Join(w.err, makeFolder(t.Folder))
}
func (answering) renew() {}
func (answering) close() {}

func TestOfTheSampleOnlyWhatDiffersStays(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	tests := map[string]struct {
		ctx           context.Context
		workers       answering
		lock          string
		first, second bool // are there in the end
		err           string
		varies        bool
	}{
		"the same":               {t.Context(), answering{done: done{Trial: Trial{Hash: "a"}}}, soundLock, false, false, "", false},
		"another":                {t.Context(), answering{done: done{Trial: Trial{Hash: "b"}}}, soundLock, true, true, "", true},
		"another of our recipes": {t.Context(), answering{done: done{Trial: Trial{Hash: "b"}}}, "set-nx-px", true, true, "is not deterministic", false},
		"judged in another way":  {t.Context(), answering{done: done{Trial: Trial{Hash: "a", Hits: 1}}}, soundLock, true, true, "", true},
		"a failure":              {t.Context(), answering{done: done{Trial: Trial{Err: "lost"}}}, soundLock, false, true, "failed when it was run again", false},
		"no worker":              {t.Context(), answering{err: errors.New("no worker")}, soundLock, false, false, "no worker", false},
		"not run again":          {stopped, answering{}, soundLock, false, false, "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := soundSpec()
			s.Lock = test.lock
			r := &run{store: &store{dir: t.TempDir()}, workers: test.workers, sample: []Trial{{Spec: s, Hash: "a"}}}
			r.Config.Parallel = 1
			first := filepath.Join(r.store.dir, folderName(s))
			if err := makeFolder(first); err != nil {
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
