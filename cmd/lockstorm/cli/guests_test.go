package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

func notMade(*locks.Client) (locks.Maker, error) { return nil, errors.New("this lock is not made") }

func TestARecipeOfAUserNeedsNoMoreThanAnIDAndNew(t *testing.T) {
	t.Cleanup(func() { locks.Unregister("guest") })
	if err := register([]locks.Recipe{{ID: "guest", New: notMade}}); err != nil {
		t.Fatal(err)
	}
	r, ok := locks.ByID("guest")
	switch {
	case !ok:
		t.Fatal("the recipe is not registered")
	case !r.Own:
		t.Error("the recipe is not known as a user's own")
	case r.Topology != locks.Single || len(r.Documents()) > 0:
		t.Errorf("got topology %q and documents %q", r.Topology, r.Documents())
	}
	if err := r.CheckClaims(time.Second, 1); err != nil {
		t.Error(err)
	}
	if _, limit := r.Declares("exclusion", "lease-outlived", "client-pause"); !limit {
		t.Error("a frozen client that outlives its lease is no limit of the recipe")
	}
	if _, excused := r.Declares("exclusion", "foreign-delete", "client-pause"); excused {
		t.Error("a release that deletes another client's key is declared")
	}
	if rows := listings[0].rows(&app{}); !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == "guest" }) {
		t.Error("list locks does not show the recipe")
	}
}

func TestARecipeThatDeclaresNoFlawsKeepsNone(t *testing.T) {
	t.Cleanup(func() { locks.Unregister("flawless") })
	if err := register([]locks.Recipe{{ID: "flawless", New: notMade, Flaws: []locks.Flaw{}}}); err != nil {
		t.Fatal(err)
	}
	if r, _ := locks.ByID("flawless"); len(r.Flaws) > 0 {
		t.Errorf("got %d flaws", len(r.Flaws))
	}
}

func TestARecipeThatCannotBeUsedIsNamed(t *testing.T) {
	for want, r := range map[string]locks.Recipe{
		`recipe "": expected an ID`:                                  {New: notMade},
		`recipe "my lock": expected an ID of letters`:                {ID: "my lock", New: notMade},
		`recipe "set-nx-px": another recipe has this ID (lockstorm `: {ID: "set-nx-px", New: notMade},
		`recipe "guest": expected a function New`:                    {ID: "guest"},
	} {
		err := register([]locks.Recipe{r})
		var bad *input.Error
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The simulation for users' locks has the same name, capabilities and topologies as the simulation
// for built-in recipes.
func TestUsersLocksRunInTheSameSimulation(t *testing.T) {
	for i, c := range forGuests(testbeds) {
		if c.Name != testbeds[i].Name {
			t.Fatalf("testbed %d is %s, want %s", i, c.Name, testbeds[i].Name)
		}
		if !c.Virtual {
			continue
		}
		guests, err := c.New(t.Context(), testbedFlags{})
		if err != nil {
			t.Fatal(err)
		}
		ours, err := testbeds[i].New(t.Context(), testbedFlags{})
		if err != nil {
			t.Fatal(err)
		}
		if guests.Name() != ours.Name() || !slices.Equal(guests.Capabilities(), ours.Capabilities()) || !slices.Equal(guests.Topologies(), ours.Topologies()) {
			t.Errorf("%s: the worlds differ", c.Name)
		}
		if _, same := guests.(testbed.Lacking); same != isLacking(ours) {
			t.Errorf("%s: only one says what it lacks", c.Name)
		}
	}
}

func isLacking(tb testbed.Testbed) bool {
	_, ok := tb.(testbed.Lacking)
	return ok
}

func TestALongLeaseMakesTrialsLongEnough(t *testing.T) {
	for _, test := range []struct {
		ttl, duration        time.Duration
		ttlChosen, durChosen bool
		want                 time.Duration
	}{
		{time.Second, 5 * time.Second, false, false, 5 * time.Second},
		{30 * time.Second, 5 * time.Second, true, false, 150 * time.Second},
		{30 * time.Second, 40 * time.Second, true, true, 40 * time.Second},
		{100 * time.Millisecond, 5 * time.Second, true, false, 5 * time.Second},
	} {
		f := runFlags{Config: campaign.DefaultConfig(), chosen: func(flag string) bool {
			return flag == "ttl" && test.ttlChosen || flag == "duration" && test.durChosen
		}}
		f.TTL, f.Duration = test.ttl, test.duration
		a := &app{testbeds: testbeds}
		c, err := a.chosen(f, testbeds[0])
		if err != nil || c.Duration != test.want {
			t.Errorf("%+v: got %v, %v", test, c.Duration, err)
		}
	}
}
