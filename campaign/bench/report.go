package bench

import (
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// Report is the result of a run. Its JSON is the output of lockstorm bench --json, for other
// programs. On virtual time, everything but Speed is a pure function of the configuration.
// Durations are in nanoseconds.
type Report struct {
	Schema   int           `json:"schema"` // 1
	Testbed  string        `json:"testbed"`
	Virtual  bool          `json:"virtual"` // latencies are those of a simulated network
	Seed     uint64        `json:"seed"`
	Clients  int           `json:"clients"`
	TTL      time.Duration `json:"ttl"`
	Duration time.Duration `json:"duration"`
	Baseline string        `json:"baseline"` // the lock that ratios refer to
	Measures []Measure     `json:"measures"`
	Locks    []Lock        `json:"locks"` // the baseline first, then as in Config.Locks
	// Drift tells how the machine changed during the run; nil on virtual time. When every lock has
	// run its trial with one client, the baseline runs that trial again. Drift is the new median
	// acquire time divided by the first. Ratios of latencies that are closer to 1 than Drift say
	// nothing about locks.
	Drift *float64 `json:"drift,omitempty"`
	Speed Speed    `json:"speed"`
}

// Lock is a lock's row in the report: how the lock was measured, and its figures.
type Lock struct {
	Lock     string           `json:"lock"`
	Topology testbed.Topology `json:"topology"`
	Nodes    int              `json:"nodes"`
	Workload string           `json:"workload"`
	// Acquires is the number of acquires by one client alone, Waits the number of contended ones:
	// the sample sizes of the latencies.
	Acquires int `json:"acquires"`
	Waits    int `json:"waits"`
	// Figures has the figures by Measure.Name.
	Figures map[string]Figure `json:"figures"`
	// Violated lists the oracles that were violated in one of the trials: such a lock may be cheap
	// because it is broken. Undecided lists the oracles that could not tell in one of them.
	Violated  []string `json:"violated,omitempty"`
	Undecided []string `json:"undecided,omitempty"`
	// Stalled counts the trials in which the machine did not schedule the harness in time, or nodes
	// elected another primary without a fault. The times measured in such trials are too long.
	Stalled int `json:"stalled,omitempty"`
}

// Figure is one value in its measure's unit, or the reason why there is none.
type Figure struct {
	Value *float64 `json:"value"` // nil = none
	// Ratio is Value divided by the baseline's; nil if either is missing or the baseline's is 0.
	Ratio *float64 `json:"ratio,omitempty"`
	Note  string   `json:"note,omitempty"`
}

// Speed is how fast the testbed and this program were, one trial at a time. It differs from
// run to run on any testbed.
type Speed struct {
	Trials   int           `json:"trials"`
	Commands int           `json:"commands"` // of clients, handshakes included
	Virtual  time.Duration `json:"virtual"`  // time that passed in the trials; on real time about Running
	// Running, Judging and Measuring are parts of Elapsed: the time for trials with set-up and
	// teardown, for all oracles, and for the figures of the report.
	Elapsed   time.Duration `json:"elapsed"`
	Running   time.Duration `json:"running"`
	Judging   time.Duration `json:"judging"`
	Measuring time.Duration `json:"measuring"`
}

// compare sets the ratios of all locks to the baseline's figures.
func compare(all []Lock, baseline string) {
	for _, base := range all {
		if base.Lock != baseline {
			continue
		}
		for _, l := range all {
			for name, f := range l.Figures {
				if by := base.Figures[name].Value; f.Value != nil && by != nil && *by != 0 {
					ratio := *f.Value / *by
					f.Ratio = &ratio
					l.Figures[name] = f
				}
			}
		}
	}
}
