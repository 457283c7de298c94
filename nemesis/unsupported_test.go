package nemesis

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestWhatIsNotSupportedIsSaidFromData(t *testing.T) {
	for _, why := range slices.Sorted(maps.Keys(wants)) {
		u := &Unsupported{
			Fault: "failover", Why: why, Nodes: locks.Independent, Topology: testbed.Cluster, Chosen: testbed.Single, Needs: testbed.CanSlots,
			Beside: "split-brain", Span: time.Second, Life: time.Minute, Hint: "make build",
		}
		stored, err := json.Marshal(u)
		var got Unsupported
		if err := errors.Join(err, json.Unmarshal(stored, &got)); err != nil || got != *u {
			t.Errorf("%s: stored as %s: got %+v, %v", why, stored, got, err)
		}
		said := u.Error()
		if !strings.HasPrefix(said, "failover: not supported: ") || !strings.HasSuffix(said, ": make build") || !errors.Is(u, ErrNotSupported) {
			t.Errorf("%s: %s", why, said)
		}
	}
	_, got := Supported(failover, locks.Single, []testbed.Topology{testbed.Single}, nil)
	if want := (Unsupported{Fault: "failover", Why: NoTopology, Topology: testbed.Replicated}); got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// A cell may lack something although its fault does not. Then the sentence does not name the fault.
	cell, want := &Unsupported{Why: OtherTopology, Topology: testbed.Replicated, Chosen: testbed.Single}, "it needs the topology replicated, not single"
	if got := cell.Error(); got != want || cell.Words() != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var none *Unsupported
	if got := none.Words(); got != "" {
		t.Errorf("nothing is missing: got %q", got)
	}
}
