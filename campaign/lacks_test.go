package campaign

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// lackingBed lacks the capability to make nodes' clocks jump, and says why.
type lackingBed struct{ *trialtest.Bed }

func (lackingBed) Lacks() map[testbed.Capability]string {
	return map[testbed.Capability]string{testbed.CanNodeClocks: "there is no shim: make build"}
}

func TestACellSaysWhyTheTestbedLacksWhatItNeeds(t *testing.T) {
	c := DefaultConfig()
	c.Locks, c.Faults = []string{"test-sound"}, []string{"node-clock", "split-brain"}
	cells, err := newPlanner(c, lackingBed{&trialtest.Bed{}}).cells()
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range cells {
		told := strings.Contains(cell.lack.Error(), ": there is no shim: make build")
		if cell.lack == nil || told != (cell.fault.Name == "node-clock") {
			t.Errorf("%s: got %q, want what is known of node-clock alone", cell.fault.Name, cell.lack.Error())
		}
	}
}

// If clients share links, the cell of split-brain is not supported, and says so before any trial. The
// cell of chaos is supported, but its plans split no clients. In the simulation and with Sentinel,
// clients share no links.
func TestClientsThatShareLinksAreNotSplit(t *testing.T) {
	for _, c := range []struct {
		topology testbed.Topology
		share    bool
		real     bool
		want     string
	}{
		{testbed.Replicated, true, true, (&nemesis.Unsupported{Why: nemesis.SharedLinks}).Words()},
		{testbed.Replicated, false, true, ""},
		{testbed.Replicated, true, false, ""},
		{testbed.Sentinel, true, true, ""},
	} {
		conf := DefaultConfig()
		conf.Locks, conf.Faults = []string{"test-sound"}, []string{"split-brain", "chaos"}
		conf.Topology, conf.ShareLinks = c.topology, c.share
		p := newPlanner(conf, splitBed{&trialtest.Bed{Real: c.real}})
		cells, err := p.cells()
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range cells {
			if cell.fault.Name == "split-brain" && cell.lack.Words() != c.want {
				t.Errorf("%+v: got %q, want %q", c, cell.lack.Words(), c.want)
			}
			if cell.fault.Mix && cell.lack != nil {
				t.Errorf("%+v: %s: %s", c, cell.fault.Name, cell.lack.Words())
			}
		}
		w := p.world(trial.Spec{Topology: c.topology}, history.Claims{})
		if got := slices.Contains(w.Capabilities, testbed.CanSplitBrain); got != (c.want == "") {
			t.Errorf("%+v: plans may split clients: %t", c, got)
		}
	}
}

// splitBed has the topologies and capabilities that splits need.
type splitBed struct{ *trialtest.Bed }

func (splitBed) Topologies() []testbed.Topology {
	return []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Sentinel}
}

func (b splitBed) Capabilities() []testbed.Capability {
	return append(b.Bed.Capabilities(), testbed.CanSplitBrain)
}

// aloneBed has only one node, because its user named only one address.
type aloneBed struct{ *trialtest.Bed }

func (aloneBed) Without() map[testbed.Topology]string {
	return map[testbed.Topology]string{testbed.Independent: "give several addresses"}
}

func TestACellSaysHowToGetTheTopologyItNeeds(t *testing.T) {
	c := DefaultConfig()
	c.Locks, c.Faults = []string{"redlock"}, []string{undisturbed}
	cells, err := newPlanner(c, aloneBed{&trialtest.Bed{}}).cells()
	if err != nil || !strings.Contains(cells[0].lack.Words(), "no independent topology: give several addresses") {
		t.Errorf("got %+v, %v", cells, err)
	}
}
