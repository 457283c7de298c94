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
		u := Unsupported{
			Fault: "failover", Why: why, Nodes: locks.Independent, Topology: testbed.Cluster, Needs: testbed.CanSlots,
			Beside: "split-brain", Span: time.Second, Life: time.Minute, Hint: "make build",
		}
		stored, err := json.Marshal(u)
		var got Unsupported
		if err := errors.Join(err, json.Unmarshal(stored, &got)); err != nil || got != u {
			t.Errorf("%s: stored as %s: got %+v, %v", why, stored, got, err)
		}
		said := u.Error()
		if !strings.HasPrefix(said, "failover: not supported: ") || !strings.HasSuffix(said, ": make build") || !errors.Is(u, ErrNotSupported) {
			t.Errorf("%s: %s", why, said)
		}
	}
	_, err := Supported(failover, locks.Single, []testbed.Topology{testbed.Single}, nil)
	var got Unsupported
	if want := (Unsupported{Fault: "failover", Why: NoTopology, Topology: testbed.Replicated}); !errors.As(err, &got) || got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
