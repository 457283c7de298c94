package linear

import "testing"

func TestAProspectCoversThoseWithLessToCome(t *testing.T) {
	one := pool("").with(action{owner: 1}, 1)
	two, other := one.with(action{owner: 1}, 1), one.with(action{owner: 2, release: true}, 1)
	for _, c := range []struct {
		p, o   prospect
		covers bool
	}{
		{prospect{1, one}, prospect{1, ""}, true},
		{prospect{1, ""}, prospect{1, one}, false},
		{prospect{1, two}, prospect{1, one}, true},
		{prospect{1, one}, prospect{1, two}, false},
		{prospect{1, two}, prospect{1, other}, false},
		{prospect{1, one}, prospect{2, one}, false},
	} {
		if got := c.p.covers(c.o); got != c.covers {
			t.Errorf("%s covers %s: %v", c.p, c.o, got)
		}
	}
	if all := (prospects{}).and(prospect{1, one}).and(prospect{1, two}).and(prospect{1, one}); len(all) != 1 || all[0].pool != two {
		t.Errorf("got %s", all)
	}
	if again := two.with(action{owner: 1}, -1); again != one || again.with(action{owner: 1}, -1) != "" {
		t.Errorf("got %s", prospect{1, again})
	}
}
