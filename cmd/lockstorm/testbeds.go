package main

import (
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
	var names []string
	for _, c := range a.testbeds {
		names = append(names, c.Name)
	}
	if _, err := campaign.Choose("testbed", []string{name}, names); err != nil {
		return nil, nil, err
	}
	for _, c := range a.testbeds {
		if c.Name == name {
			tb, err = c.New()
		}
	}
	if err != nil {
		return nil, nil, campaign.Inputf("--testbed %s: %w", name, err)
	}
	done = func() error { return nil }
	if c, ok := tb.(interface{ Close() error }); ok {
		done = c.Close
	}
	return tb, done, nil
}
