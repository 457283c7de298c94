package linear

import (
	"reflect"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

func TestModelsArePureAndDescribeThemselves(t *testing.T) {
	mutexModel, ownedModel := spec{anyone: true}.model(), spec{}.model()
	reentrantModel, readWriteModel := spec{again: true}.model(), spec{again: true, modes: true}.model()
	fencedModel, reentrantFencedModel := spec{fenced: true}.model(), spec{again: true, fenced: true}.model()
	twoPermits := spec{again: true, permits: 2}.model()
	write := action{owner: 2, mode: history.Write}
	for _, c := range []struct {
		model porcupine.Model
		acts  []action
		state string
		legal bool // whether the last action is legal
	}{
		{mutexModel, []action{{owner: 1}}, "held", true},
		{mutexModel, []action{{owner: 1}, {owner: 2, release: true}}, "free", true},
		{mutexModel, []action{{owner: 1}, {owner: 2}}, "held", false},
		{mutexModel, []action{{owner: 1, release: true}}, "free", false},
		{ownedModel, []action{{owner: 1}}, "held by c1", true},
		{ownedModel, []action{{owner: 1}, {owner: 2, release: true}}, "held by c1", false},
		{ownedModel, []action{{owner: 1}, {owner: 1}}, "held by c1", false},
		{ownedModel, []action{{owner: 0}, {owner: 0, release: true}}, "free", true},
		{reentrantModel, []action{{owner: 1}, {owner: 1}}, "held by c1, 2 deep", true},
		{reentrantModel, []action{{owner: 1}, {owner: 1}, {owner: 1, release: true}, {owner: 1, release: true}}, "free", true},
		{reentrantModel, []action{{owner: 1}, {owner: 2}}, "held by c1, 1 deep", false},
		{reentrantModel, []action{{owner: 1}, {owner: 2, release: true}}, "held by c1, 1 deep", false},
		{fencedModel, []action{{owner: 1, fence: 3}}, "held by c1, fence 3", true},
		{fencedModel, []action{{owner: 1, fence: 3}, {owner: 1, release: true}, {owner: 2, fence: 3}}, "free, fence 3", false},
		{fencedModel, []action{{owner: 1, fence: 3}, {owner: 1, release: true}, {owner: 2, fence: 4}}, "held by c2, fence 4", true},
		{fencedModel, []action{{owner: 1, fence: 3}, {owner: 2, fence: 4}}, "held by c1, fence 3", false},
		{fencedModel, []action{{owner: 1, fence: 3, passing: true}, {owner: 2, fence: 4, passing: true}}, "free, fence 4", true},
		{fencedModel, []action{{owner: 1}}, "free, fence 0", false},
		{fencedModel, []action{{owner: 1, fence: 3}, {owner: 2, release: true}}, "held by c1, fence 3", false},
		{reentrantFencedModel, []action{{owner: 1, fence: 3}, {owner: 1, fence: 3}}, "held by c1, 2 deep, fence 3 of c1", true},
		{reentrantFencedModel, []action{{owner: 1, fence: 3}, {owner: 1, fence: 2}}, "held by c1, 1 deep, fence 3 of c1", false},
		{reentrantFencedModel, []action{{owner: 1, fence: 3, passing: true}, {owner: 2, fence: 3, passing: true}}, "free, fence 3 of c1", false},
		{reentrantFencedModel, []action{{owner: 1, fence: 3, passing: true}, {owner: 2, fence: 4, passing: true}, {owner: 1, fence: 3, passing: true}}, "free, fence 4 of c2", false},
		{reentrantFencedModel, []action{{owner: 1, fence: 0}}, "free", false},
		{twoPermits, []action{{owner: 1}, {owner: 2}}, "held by c1, c2, 0 of 2 permits left", true},
		{twoPermits, []action{{owner: 1}, {owner: 2}, {owner: 3}}, "held by c1, c2, 0 of 2 permits left", false},
		{twoPermits, []action{{owner: 1}, {owner: 1}, {owner: 3}}, "held by c1, c3, 0 of 2 permits left", true},
		{twoPermits, []action{{owner: 1}, {owner: 2, release: true}}, "held by c1, 1 of 2 permits left", false},
		{twoPermits, []action{{owner: 1}, {owner: 1, release: true}}, "free, 2 of 2 permits left", true},
		{readWriteModel, []action{{owner: 1, mode: history.Read}, {owner: 0, mode: history.Read}}, "read by c0, read by c1", true},
		{readWriteModel, []action{{owner: 1, mode: history.Read}, write}, "read by c1", false},
		{readWriteModel, []action{write, {owner: 1, mode: history.Read}}, "written by c2", false},
		{readWriteModel, []action{write, {owner: 2, mode: history.Read}}, "written by c2, read by c2", true},
		{readWriteModel, []action{write, {owner: 2, mode: history.Write, release: true}}, "free", true},
		{readWriteModel, []action{write, {owner: 1, mode: history.Read, release: true}}, "written by c2", false},
	} {
		s, legal := c.model.Init(), true
		for _, a := range c.acts {
			before := c.model.DescribeState(s)
			ok, next := c.model.Step(s, a, nil)
			if c.model.DescribeState(s) != before {
				t.Errorf("%v: %s changed its state", c.acts, a)
			}
			s, legal = next, ok
		}
		if got := c.model.DescribeState(s); got != c.state || legal != c.legal {
			t.Errorf("%v: got %q, legal %v; want %q, %v", c.acts, got, legal, c.state, c.legal)
		}
	}
	if got := readWriteModel.DescribeOperation(write, nil); got != "c2 acquires (write)" {
		t.Errorf("got %q", got)
	}
	if got := fencedModel.DescribeOperation(action{owner: 2, fence: 7}, nil); got != "c2 acquires, fence 7" {
		t.Errorf("got %q", got)
	}
}

func TestModelsAreFoundByName(t *testing.T) {
	for _, m := range Models() {
		named, ok := ModelNamed(m.Name)
		if !ok || !reflect.DeepEqual(named.Claims, m.Claims) || m.Doc == "" {
			t.Errorf("%s: got %+v, %v", m.Name, named.Claims, ok)
		}
		if b := ModelOf(m.Claims); b.Name != m.Name && m.Name != "mutex" {
			t.Errorf("%s is judged as %s", m.Name, b.Name)
		}
	}
	for name, permits := range map[string]int{
		"semaphore": 1, "semaphore:3": 3, "semaphore:0": 0, "semaphore:-1": 0, "semaphore:": 0, "semaphore:x": 0, "mutex:2": 0, "": 0, "fence": 0,
	} {
		if m, ok := ModelNamed(name); m.Claims.Permits != permits || ok != (permits > 0) {
			t.Errorf("%q: got %+v, %v", name, m.Claims, ok)
		}
	}
}
