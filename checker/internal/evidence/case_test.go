package evidence

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

func TestImpossibleHistoriesHaveNoHolds(t *testing.T) {
	ops := histories.Timeline(t, "c0 acquire 1-2 ok\nc1 acquire 3-4 ok")
	for name, spoil := range map[string]func([]history.Op){
		"time goes back":         func(ops []history.Op) { ops[2].Time = 0 },
		"negative time":          func(ops []history.Op) { ops[0].Time = -1 },
		"time out of range":      func(ops []history.Op) { ops[3].Time = time.Duration(1) << 62 },
		"an index twice":         func(ops []history.Op) { ops[3].Index = 2 },
		"two open operations":    func(ops []history.Op) { ops[1].Type = history.Invoke; ops[1].F = history.FRelease },
		"completion of nothing":  func(ops []history.Op) { ops[3].Process = 7 },
		"deadline out of range":  func(ops []history.Op) { ops[3].Lease = &history.Lease{Deadline: -1 << 62} },
		"clock offset too large": func(ops []history.Op) { ops[3].Offset = -1 << 63 },
	} {
		spoilt := slices.Clone(ops)
		spoil(spoilt)
		if c := New(history.Evidence{Ops: spoilt}); c.Sound() == nil || len(c.Holds()) > 0 {
			t.Errorf("%s: no error, holds %v", name, c.Holds())
		}
	}
}

func TestAReleaseHasTheModeOfItsAcquire(t *testing.T) {
	ops := histories.Timeline(t, "c0 acquire 1-2 ok mode=read\nc0 release 3-4 ok")
	c := New(history.Evidence{Ops: ops, Claims: history.Claims{ReadWrite: true}})
	holds := c.Holds()
	if len(holds) != 1 || holds[0].Mode != history.Read || holds[0].To != 3*time.Millisecond {
		t.Errorf("got %+v, want one hold for reading until 3ms", holds)
	}
	if last := c.Ops[len(c.Ops)-1]; last.Mode != history.Read || ops[len(ops)-1].Mode != "" {
		t.Errorf("the release has mode %q, and %q in the evidence that was given", last.Mode, ops[len(ops)-1].Mode)
	}
}
