package locktest_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locktest"
)

// Each Option sets its own field of Options, and no other.
func TestAnOptionSetsItsField(t *testing.T) {
	for name, c := range map[string]struct {
		set  locktest.Option
		want locktest.Options
	}{
		"TTL":            {locktest.TTL(time.Second), locktest.Options{TTL: time.Second}},
		"Patience":       {locktest.Patience(time.Second), locktest.Options{Patience: time.Second}},
		"Nodes":          {locktest.Nodes(3), locktest.Options{Nodes: 3}},
		"Clients":        {locktest.Clients(4), locktest.Options{Clients: 4}},
		"Faults":         {locktest.Faults("none", "delay"), locktest.Options{Faults: []string{"none", "delay"}}},
		"Trials":         {locktest.Trials(-1), locktest.Options{Trials: -1}},
		"Seed":           {locktest.Seed(7), locktest.Options{Seed: 7}},
		"Budget":         {locktest.Budget(time.Hour), locktest.Options{Budget: time.Hour}},
		"PromiseRenewal": {locktest.PromiseRenewal, locktest.Options{Renews: true}},
		"RequireFencing": {locktest.RequireFencing, locktest.Options{Fencing: true}},
		"Reentrant":      {locktest.Reentrant, locktest.Options{Reentrant: true}},
		"Blocking":       {locktest.Blocking, locktest.Options{Blocking: true}},
		"Monotonic":      {locktest.Monotonic, locktest.Options{Monotonic: true}},
		"WallClock":      {locktest.WallClock, locktest.Options{WallClock: true}},
	} {
		var got locktest.Options
		if c.set(&got); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s sets %+v, want %+v", name, got, c.want)
		}
	}
}
