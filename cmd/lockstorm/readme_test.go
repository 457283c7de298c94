package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

// TestReadmeTellsTheRegistries wants the README's tables as the registries have them.
func TestReadmeTellsTheRegistries(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	can := map[string][]testbed.Capability{}
	beds := "| testbed | what | topologies |\n|---|---|---|\n"
	for _, c := range testbeds {
		var topologies []testbed.Topology
		var able []testbed.Capability
		var lacks map[testbed.Capability]string
		if c.Sketch != nil { // not what is on this machine
			topologies, able, lacks = worldsOf(c.Sketch())
		} else {
			topologies, able, lacks, _ = c.worlds()
		}
		can[c.Name] = slices.AppendSeq(able, maps.Keys(lacks)) // as on another machine
		beds += fmt.Sprintf("| `%s` | %s | %s |\n", c.Name, c.Doc, join(topologies))
	}
	faults := "| fault | what it does | testbeds |\n|---|---|---|\n"
	for _, f := range nemesis.All() {
		var on []string
		for _, c := range testbeds {
			lacks := func(need testbed.Capability) bool { return !slices.Contains(can[c.Name], need) }
			if !slices.ContainsFunc(f.Needs, lacks) {
				on = append(on, c.Name)
			}
		}
		faults += fmt.Sprintf("| `%s` | %s | %s |\n", f.Name, f.Doc, strings.Join(on, ", "))
	}
	for _, table := range []string{beds, faults} {
		if !strings.Contains(string(data), "\n\n"+table+"\n") {
			t.Errorf("README.md lacks this table:\n%s", table)
		}
	}
}

// TestReadmeCallsTheProgramAsPrintedCommandsDo wants one form of its name, and how
// to get there before the first use.
func TestReadmeCallsTheProgramAsPrintedCommandsDo(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if strings.Contains(text, "bin/lockstorm") {
		t.Error("README.md says bin/lockstorm; printed commands say lockstorm")
	}
	path, use := strings.Index(text, "go install ./cmd/lockstorm"), strings.Index(text, "    $ lockstorm ")
	if path < 0 || use < path {
		t.Errorf("README.md says how to have lockstorm on the PATH at %d, and uses it at %d", path, use)
	}
}
