package main

import (
	"slices"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/process"
)

// testbedChoice is a testbed that --testbed offers.
type testbedChoice struct {
	Name string
	Doc  string
	// New makes it. An error says what is missing on this machine.
	New func() (testbed.Testbed, error)
}

var testbeds = []testbedChoice{{
	Name: "process",
	Doc:  "redis-server processes on this machine, toxiproxy on every link",
	New:  func() (testbed.Testbed, error) { return process.New(process.Options{}) },
}}

// testbed makes the one of that name; done takes it down.
func (a *app) testbed(name string) (tb testbed.Testbed, done func() error, err error) {
	i := slices.IndexFunc(a.testbeds, func(c testbedChoice) bool { return c.Name == name })
	if i < 0 {
		var names []string
		for _, c := range a.testbeds {
			names = append(names, c.Name)
		}
		return nil, nil, campaign.Inputf("unknown testbed %q: did you mean %s? (lockstorm list testbeds)", name, campaign.Nearest(name, names))
	}
	if tb, err = a.testbeds[i].New(); err != nil {
		return nil, nil, campaign.Inputf("--testbed %s: %w", name, err)
	}
	done = func() error { return nil }
	if c, ok := tb.(interface{ Close() error }); ok {
		done = c.Close
	}
	return tb, done, nil
}
