package campaign

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
)

// lackingBed could make nodes' clocks jump on another machine.
type lackingBed struct{ *fakeBed }

func (lackingBed) Lacks() map[testbed.Capability]string {
	return map[testbed.Capability]string{testbed.CanNodeClocks: "there is no shim: make build"}
}

func TestACellSaysWhyTheTestbedLacksWhatItNeeds(t *testing.T) {
	c := DefaultConfig()
	c.Locks, c.Faults = []string{"test-sound"}, []string{"node-clock", "split-brain"}
	cells, err := newPlanner(c, lackingBed{&fakeBed{}}).cells()
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range cells {
		told := strings.Contains(cell.why, ": there is no shim: make build")
		if cell.why == "" || told != (cell.fault.Name == "node-clock") {
			t.Errorf("%s: got %q, want what is known of node-clock alone", cell.fault.Name, cell.why)
		}
	}
}
