package trial

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
)

// talkative is a recipe whose clients c0 and c2 have processes; the one of c2 writes nothing.
const talkative, talkativeBroken = "test-talkative", "test-talkative-broken"

func init() {
	for _, r := range trialtest.Recipes() {
		if r.ID != trialtest.Sound && r.ID != trialtest.Panicky {
			continue
		}
		open := r.New
		r.New = func(c *locks.Client) (locks.Maker, error) {
			switch c.ID {
			case "c0":
				c.Adopt(&process{said: "one\n"})
				c.Adopt(&process{said: "two\n"})
			case "c2":
				c.Adopt(&process{})
			}
			return open(c)
		}
		r.ID = map[string]string{trialtest.Sound: talkative, trialtest.Panicky: talkativeBroken}[r.ID]
		locks.Register(r)
	}
}

// process is a locks.Process that has written a text.
type process struct{ said string }

func (*process) Freeze()            {}
func (*process) Skew(time.Duration) {}
func (*process) Thaw()              {}
func (*process) Kill()              {}
func (p *process) End() string      { return p.said }

func TestTheFolderHasWhatTheClientsProcessesWrote(t *testing.T) {
	for name, test := range map[string]struct {
		lock string
		task Task
	}{
		"stored":            {talkative, Task{Keep: true}},
		"stored as it runs": {talkative, Task{Keep: true, Stream: true}},
		"broken down":       {talkativeBroken, Task{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.task.Spec = soundSpec()
				test.task.Spec.Lock = test.lock
				test.task.Folder = filepath.Join(t.TempDir(), "a", "b", "c", "d")
				if err := os.MkdirAll(test.task.Folder, 0o777); err != nil {
					t.Fatal(err)
				}
				// An earlier trial's file must not pass for this trial's.
				if err := os.WriteFile(filepath.Join(test.task.Folder, "c1.stderr.txt"), []byte("old"), 0o666); err != nil {
					t.Fatal(err)
				}
				d, err := Execute(t.Context(), &trialtest.Bed{}, test.task, new(sync.Mutex), nil)
				if err != nil || !d.Kept {
					t.Fatalf("kept %t, %v", d.Kept, err)
				}
				text, err := os.ReadFile(filepath.Join(test.task.Folder, "c0.stderr.txt"))
				if err != nil || string(text) != "one\ntwo\n" {
					t.Errorf("c0.stderr.txt has %q, %v", text, err)
				}
				files, err := os.ReadDir(test.task.Folder)
				if err != nil {
					t.Fatal(err)
				}
				if n := slices.IndexFunc(files, func(f os.DirEntry) bool {
					return strings.HasSuffix(f.Name(), StderrSuffix) && f.Name() != "c0.stderr.txt"
				}); n >= 0 {
					t.Errorf("the folder has %s", files[n].Name())
				}
			})
		})
	}
}
