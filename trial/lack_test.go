package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestALackIsStoredAsData(t *testing.T) {
	wanting := nemesis.Unsupported{Fault: "failover", Why: nemesis.NoTopology, Topology: testbed.Replicated}
	for said, l := range map[string]*Lack{
		"failover: not supported: the testbed has no replicated topology": NewLack(fmt.Errorf("a plan: %w", wanting)),
		"it needs the topology replicated, not single":                    {What: LackOfTopology, Needs: testbed.Replicated, Chosen: testbed.Single},
		"the clients share their links, and cannot be moved one by one":   {What: LackOfLinks},
		"none of the chosen workloads suits the recipe":                   {What: LackOfWorkload},
		"it has no named schedules, and no trials are drawn":              {What: LackOfNamed},
		"no such thing": NewLack(errors.New("no such thing")),
	} {
		stored, err := json.Marshal(l)
		var got Lack
		if err := errors.Join(err, json.Unmarshal(stored, &got)); err != nil || !reflect.DeepEqual(got, *l) {
			t.Errorf("stored as %s: got %+v, %v", stored, got, err)
		}
		if got.Sentence() != said {
			t.Errorf("got %q, want %q", got.Sentence(), said)
		}
	}
	var none *Lack
	if none.Words() != "" || none.Sentence() != "" {
		t.Errorf("none is told as %q", none.Sentence())
	}
}
