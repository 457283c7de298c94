package campaign

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/workloads"
)

// sizes returns the options of the first trials of a lock under a fault, without the seeds, which
// always differ.
func sizes(t *testing.T, c Config, lock, fault string) (all []workloads.Options) {
	t.Helper()
	r, _ := locks.ByID(lock)
	f, ok := nemesis.ByName(fault)
	if !ok {
		t.Fatalf("no fault %s", fault)
	}
	p := newPlanner(c, &trialtest.Bed{})
	for k := range 40 {
		o := p.spec(plannedCell{recipe: r, fault: f}, "mutex", k).Options
		o.Seed = 0
		all = append(all, o)
	}
	return all
}

func TestAMixOfFaultsVariesTheSizesOfItsTrials(t *testing.T) {
	c := DefaultConfig()
	seen := map[string]map[any]bool{"clients": {}, "keys": {}, "hold": {}, "rest": {}, "overrun": {}}
	for _, o := range sizes(t, c, renewingLock, "chaos") {
		seen["clients"][o.Clients], seen["keys"][o.Keys], seen["overrun"][o.Overrun] = true, true, true
		seen["hold"][o.Hold], seen["rest"][o.Rest] = true, true
		if o.Clients < 2 || o.Clients > 5 || o.Hold > c.TTL/5 {
			t.Errorf("out of bounds: %+v", o)
		}
	}
	for size, want := range map[string]int{"clients": 4, "keys": 2, "hold": 4, "rest": 4, "overrun": 3} {
		if len(seen[size]) != want {
			t.Errorf("%s takes the values %v, want %d of them", size, seen[size], want)
		}
	}
	for _, o := range sizes(t, c, trialtest.Sound, "chaos") {
		if o.Overrun != 0 {
			t.Errorf("overrun %v of a lock that does not renew", o.Overrun)
		}
	}
}

func TestWhatTheUserChoseDoesNotVary(t *testing.T) {
	c := DefaultConfig()
	free := sizes(t, c, renewingLock, "chaos")
	c.Clients, c.Hold = 7, c.TTL/3
	for k, o := range sizes(t, c, renewingLock, "chaos") {
		if o.Clients != 7 || o.Hold != c.TTL/3 {
			t.Errorf("trial %d has %d clients that hold for %v, want 7 and %v", k, o.Clients, o.Hold, c.TTL/3)
		}
		if o.Keys != free[k].Keys || o.Rest != free[k].Rest || o.Overrun != free[k].Overrun {
			t.Errorf("trial %d: what was not chosen changed too: %+v, was %+v", k, o, free[k])
		}
	}
	c.Clients, c.Keys = defaultClients, defaultKeys
	for k, o := range sizes(t, c, renewingLock, "chaos") {
		if o.Clients != defaultClients || o.Keys != defaultKeys {
			t.Errorf("trial %d has %d clients and %d keys, although the defaults were chosen", k, o.Clients, o.Keys)
		}
	}
	for _, o := range sizes(t, DefaultConfig(), renewingLock, "client-pause") {
		if o.Clients != 3 || o.Keys != 1 {
			t.Errorf("under one fault the sizes vary: %+v", o)
		}
	}
}

// campaign.json restores the sizes that the user chose. It also contains the default of each size that
// the user did not choose.
func TestStoredSizesAreThoseThatWereChosen(t *testing.T) {
	for _, test := range []struct {
		clients, keys int
		want          string
	}{
		{0, 0, `"clients":3,"keys":1,`},
		{5, 0, `"clients":5,"keys":1,`},
		{3, 1, `"chosen":["clients","keys"]`},
		{0, 1, `"chosen":["keys"]`},
	} {
		c := DefaultConfig()
		c.Clients, c.Keys = test.clients, test.keys
		text, err := json.Marshal(c)
		if err != nil || !strings.Contains(string(text), test.want) {
			t.Errorf("got %s, %v; want %s", text, err, test.want)
		}
		var back Config
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("got %+v, %v; want %+v", back, err, c)
		}
	}
}
