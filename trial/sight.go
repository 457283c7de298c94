package trial

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

// Sight is what a probe showed about a recipe's commands. The plans of trials with faults depend on
// it.
type Sight struct {
	Points    []testbed.Point `json:"points,omitempty"`    // where faults can strike a client (nemesis.Points)
	Deadlines bool            `json:"deadlines,omitempty"` // leases have deadlines by clients' clocks
	Scripts   bool            `json:"scripts,omitempty"`   // clients run Lua scripts
	Times     bool            `json:"times,omitempty"`     // commands ask nodes for their time (TIME)
	KeyLife   time.Duration   `json:"keyLife,omitempty"`   // longest TTL of a granted key (nemesis.KeyLife)
}

// SightOf extracts what the evidence of a probe shows.
func SightOf(e history.Evidence) Sight {
	return Sight{
		Points: nemesis.Points(e.Commands), Deadlines: nemesis.Deadlines(e.Ops), Scripts: nemesis.Scripts(e.Commands),
		Times: keyspace.AsksTime(e.Commands), KeyLife: nemesis.KeyLife(e),
	}
}

// AcquireTimes returns the durations of a history's successful acquires.
func AcquireTimes(e history.Evidence) []time.Duration {
	pairs, err := history.Pairs(e.Ops)
	if err != nil {
		return nil
	}
	var all []time.Duration
	for _, p := range pairs {
		if p.Invoke.F == history.FAcquire && p.Complete != nil && p.Complete.Type == history.OK {
			all = append(all, p.Complete.Time-p.Invoke.Time)
		}
	}
	return all
}
