package trial

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// The log keeps only some changes of a key that grows with each command: all of them would use up
// the memory. The history then says that the node's keys are unseen.
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
