package linear

import "testing"

func TestAProspectCoversThoseWithLessToCome(t *testing.T) {
	one := pool("").with(action{owner: 1}, 1)
	two, other := one.with(action{owner: 1}, 1), one.with(action{owner: 2, release: true}, 1)
	for _, c := range []struct {
		p, o   possibleState
		covers bool
	}{
		{possibleState{1, one}, possibleState{1, ""}, true},
		{possibleState{1, ""}, possibleState{1, one}, false},
		{possibleState{1, two}, possibleState{1, one}, true},
		{possibleState{1, one}, possibleState{1, two}, false},
		{possibleState{1, two}, possibleState{1, other}, false},
		{possibleState{1, one}, possibleState{2, one}, false},
	} {
		if got := c.p.covers(c.o); got != c.covers {
			t.Errorf("%s covers %s: %v", c.p, c.o, got)
		}
	}
	if all := (possibleStates{}).and(possibleState{1, one}).and(possibleState{1, two}).and(possibleState{1, one}); len(all) != 1 || all[0].pool != two {
		t.Errorf("got %s", all)
	}
	if again := two.with(action{owner: 1}, -1); again != one || again.with(action{owner: 1}, -1) != "" {
		t.Errorf("got %s", possibleState{1, again})
	}
}
