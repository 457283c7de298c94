package remedies_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/remedies"
)

// here runs trials in this process.
type here struct{ judging sync.Mutex }

func (h *here) Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error) {
	return trial.Execute(ctx, sim.New(), t, &h.judging, log)
}

// minimal runs the smallest trial of a cell of the corpus.
func minimal(t *testing.T, on remedies.Runner, lock, fault string) (trial.Result, history.Evidence) {
	t.Helper()
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(l corpus.Line) bool { return l.Lock == lock && l.Fault == fault && l.Minimal != nil })
	if i < 0 {
		t.Fatalf("the corpus has no minimal trial of %s under %s", lock, fault)
	}
	spec := *list[i].Minimal
	spec.Testbed = sim.New().Name()
	folder := filepath.Join(t.TempDir(), "minimal")
	if _, err := on.Run(t.Context(), trial.Task{Spec: spec, Folder: folder, Keep: true}, nil); err != nil {
		t.Fatal(err)
	}
	r, e, err := trial.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return r, e
}

func TestWhatRemediesDo(t *testing.T) {
	for _, c := range []struct {
		lock, fault string
		enough      []string // among others
		never       []string // told with no effect, even a partial one
	}{
		{"set-nx-ex-get-del", "client-pause", []string{remedy.OwnRelease, remedy.AtomicRelease}, []string{remedy.UniqueToken, remedy.AtomicTake}},
		{"exists-set", "client-pause", []string{remedy.AtomicTake}, []string{remedy.UniqueToken}},
		{"exists-set", "failover", []string{remedy.AtomicTake + "+" + remedy.Durable}, []string{remedy.UniqueToken}},
		{"set-nx-px", "failover", []string{remedy.Durable}, []string{remedy.OwnRelease}},
		{"set-nx-px", "lost-reply", []string{remedy.NoOrphan}, []string{remedy.OwnRelease, remedy.Fence}},
		{"set-nx-px", "node-clock", []string{remedy.Clocks}, []string{remedy.Durable}},
		{"set-nx-px", "client-pause", []string{remedy.StopsAtDeadline}, []string{remedy.OwnRelease}},
		{"set-nx-px", "client-crash", nil, []string{remedy.NoOrphan}}, // a crashed client releases nothing
		{"setnx", "lost-reply", []string{remedy.Expiry}, []string{remedy.OwnRelease}},
		{"getset", "client-pause", nil, []string{remedy.UniqueToken}}, // the value is the time at which the lease ends
		{"redisson-lease", "delay", []string{remedy.OwnRelease + "+" + remedy.UniqueToken}, []string{remedy.OwnRelease}},
		{"rw-hash", "slow-work", []string{remedy.OwnRelease}, nil}, // of the fields of a hash
	} {
		t.Run(c.lock+" "+c.fault, func(t *testing.T) {
			t.Parallel()
			on := &here{}
			r, e := minimal(t, on, c.lock, c.fault)
			got, err := remedies.Try(t.Context(), t.Context(), on, r, e, filepath.Join(t.TempDir(), "scratch"))
			if err != nil {
				t.Fatal(err)
			}
			effects := map[string]remedy.Effect{}
			for _, x := range got.Tried {
				effects[x.Name()] = x
			}
			for _, name := range c.enough {
				if x, told := effects[name]; !told || !x.Enough() {
					t.Errorf("%s: got %+v, want nothing violated any more; all: %+v", name, x, got)
				}
			}
			for _, name := range c.never {
				if x, told := effects[name]; told {
					t.Errorf("%s: got %+v, want no effect", name, x)
				}
			}
			if len(got.Tried) > 0 && len(c.enough) > 0 && !got.Tried[0].Enough() {
				t.Errorf("first comes %+v, which is not enough", got.Tried[0])
			}
		})
	}
}

func TestWithoutRemediesTheTrialIsTheSame(t *testing.T) {
	on := &here{}
	r, _ := minimal(t, on, "set-nx-px", "failover")
	s := r.Spec
	s.Remedies = []string{remedy.OwnRenewal} // has nothing to do
	d, err := on.Run(t.Context(), trial.Task{Spec: s, Folder: t.TempDir(), Drop: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.Trial.Hash != r.Hash || d.Trial.Acted == nil || d.Trial.Acted.Times != 0 {
		t.Errorf("got hash %s, acted %+v; want the hash %s without remedies, and no act", d.Trial.Hash, d.Trial.Acted, r.Hash)
	}
}
