package nemesis

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// A reset is over at once, lasts for some attempts, or lasts for longer than a lease.
func TestResetsAreShortAndLong(t *testing.T) {
	w := World{
		Clients: 2, Nodes: []string{"n0"}, Topology: testbed.Single, Capabilities: []testbed.Capability{testbed.CanNetwork},
		TTL: time.Second, Hold: 100 * time.Millisecond, Retry: 50 * time.Millisecond, Duration: 5 * time.Second,
		CommandTimeout: 500 * time.Millisecond, Claims: history.Claims{Quorum: 1, TTL: time.Second, Recovery: time.Second},
	}
	for _, step := range []string{testbed.StepAcquire, testbed.StepRelease} {
		for _, when := range whens {
			w.Points = append(w.Points, testbed.Point{Client: history.NoClient, Step: step, Node: "n0", N: 1, When: when})
		}
	}
	all, err := Named("reset", w)
	if err != nil {
		t.Fatal(err)
	}
	once, long := 0, 0
	for _, s := range all {
		switch lasts := s.Plan[0].For; {
		case strings.Contains(s.Name, ".once-"):
			once++
			if lasts != 0 {
				t.Errorf("%s lasts %v, want no time", s.Name, lasts)
			}
		case strings.Contains(s.Name, ".long-"):
			long++
			if lasts <= w.TTL {
				t.Errorf("%s lasts %v, want longer than the lease", s.Name, lasts)
			}
		case lasts == 0 || lasts >= w.TTL:
			t.Errorf("%s lasts %v, want some attempts", s.Name, lasts)
		}
	}
	if once != 2 || long != 2 {
		t.Errorf("%d schedules of one reset and %d of long ones, want 2 of each", once, long)
	}
}
