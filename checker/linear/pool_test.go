package linear

import (
	"slices"
	"testing"
)

func TestAProspectCoversThoseWithLessToCome(t *testing.T) {
	a, b := held{fence: 1}, held{fence: 2}
	one := pool(nil).with(action{owner: 1}, 1)
	two, other := one.with(action{owner: 1}, 1), one.with(action{owner: 2, release: true}, 1)
	for _, c := range []struct {
		p, o   possibleState
		covers bool
	}{
		{possibleState{a, one}, possibleState{a, nil}, true},
		{possibleState{a, nil}, possibleState{a, one}, false},
		{possibleState{a, two}, possibleState{a, one}, true},
		{possibleState{a, one}, possibleState{a, two}, false},
		{possibleState{a, two}, possibleState{a, other}, false},
		{possibleState{a, one}, possibleState{b, one}, false},
	} {
		if got := c.p.covers(c.o); got != c.covers {
			t.Errorf("%v covers %v: %v", c.p, c.o, got)
		}
	}
	if all := (possibleStates{}).and(possibleState{a, one}).and(possibleState{a, two}).and(possibleState{a, one}); len(all) != 1 || !slices.Equal(all[0].pool, two) {
		t.Errorf("got %v", all)
	}
	if again := two.with(action{owner: 1}, -1); !slices.Equal(again, one) || again.with(action{owner: 1}, -1).count(action{owner: 1}) != 0 {
		t.Errorf("got %v", again)
	}
}
