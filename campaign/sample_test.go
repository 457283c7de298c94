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
		first, second bool // are there in the end
		err           string
	}{
		"the same":      {t.Context(), answering{done: done{Trial: Trial{Hash: "a"}}}, false, false, ""},
		"another":       {t.Context(), answering{done: done{Trial: Trial{Hash: "b"}}}, true, true, "is not deterministic"},
		"a failure":     {t.Context(), answering{done: done{Trial: Trial{Err: "lost"}}}, false, true, "failed when it was run again"},
		"no worker":     {t.Context(), answering{err: errors.New("no worker")}, false, false, "no worker"},
		"not run again": {stopped, answering{}, false, false, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := soundSpec()
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
		})
	}
}
