package campaign

import (
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// Config is what a user chooses: part of campaign.json.
type Config struct {
	Name      string           `json:"name"` // the campaign's directory below the store
	Locks     []string         `json:"locks"`
	Faults    []string         `json:"faults"`
	Workloads []string         `json:"workloads"`
	Testbed   string           `json:"testbed"`
	Topology  testbed.Topology `json:"topology,omitempty"` // empty = the smallest that satisfies recipe and fault
	Nodes     int              `json:"nodes,omitempty"`    // of an independent topology; 0 = 5
	Clients   int              `json:"clients"`
	Keys      int              `json:"keys"`
	TTL       time.Duration    `json:"ttl"`
	Hold      time.Duration    `json:"hold"` // 0 = TTL/10
	Rest      time.Duration    `json:"rest"`
	Duration  time.Duration    `json:"duration"` // of the disturbed part of a trial
	Trials    int              `json:"trials"`   // per cell
	Seed      uint64           `json:"seed"`
	Parallel  int              `json:"parallel"`
	Timeout   time.Duration    `json:"timeout,omitempty"` // of one trial; 0 = chosen from the other durations
	Store     string           `json:"store"`
	Keep      bool             `json:"keep,omitempty"`   // keep the folders of trials without a violation
	Expect    bool             `json:"expect,omitempty"` // declared flaws must be found, others must not
	Trusting  bool             `json:"trusting,omitempty"`
}

// Versions of what took part.
type Versions struct {
	Lockstorm string `json:"lockstorm"`
	Go        string `json:"go"`
	Redis     string `json:"redis,omitempty"`
}

// Info is campaign.json: what was asked for, and of whom.
type Info struct {
	Config   Config    `json:"config"`
	Command  string    `json:"command"`
	Versions Versions  `json:"versions"`
	Started  time.Time `json:"started"`
	// Plan lists the cells in the matrix's order.
	Plan []PlannedCell `json:"plan"`
}

// PlannedCell is one cell as planned.
type PlannedCell struct {
	Lock      string   `json:"lock"`
	Fault     string   `json:"fault"`
	Workloads []string `json:"workloads,omitempty"`
	// NotSupported says why the cell has no trials; empty otherwise.
	NotSupported string `json:"notSupported,omitempty"`
}

// Progress is how far a running campaign is.
type Progress struct {
	Done, Total int // trials
	Violations  int // trials with a violated oracle
	Failed      int // trials that the harness could not finish
}
