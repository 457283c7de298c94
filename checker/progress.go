package checker

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Progress says how well a trial went for those who waited. It is a measure and
// no verdict: nothing in it is right or wrong by itself. What was not seen is
// zero; the counts beside say how much there was to see.
type Progress struct {
	// Waits counts the waits that ended with a grant: from a client's first
	// attempt, through all that failed, to the grant. Gave counts those that did
	// not: the client crashed, or the trial ended.
	Waits      int           `json:"waits"`
	Gave       int           `json:"gave"`
	WaitMedian time.Duration `json:"waitMedian"`
	WaitP95    time.Duration `json:"waitP95"`
	WaitMax    time.Duration `json:"waitMax"`

	// Bypasses are grants to others while a client waited: in all, and during the
	// one wait that saw most.
	Bypasses    int `json:"bypasses"`
	BypassesMax int `json:"bypassesMax"`

	// Jain is Jain's index of fairness over the grants of the clients that asked:
	// 1 if all got as many, 1/n if one of n got all; 0 if nobody got any.
	Jain    float64 `json:"jain"`
	Grants  int     `json:"grants"`
	Clients int     `json:"clients"`

	// Losses counts the holders who were told, or saw, that their lease was gone;
	// the lag is from the moment it was gone until then.
	Losses     int           `json:"losses"`
	LossLagMax time.Duration `json:"lossLagMax"`
	LossLagSum time.Duration `json:"lossLagSum"`

	// Orphans counts the claims that stood on a node while no living client had to
	// do with them; the time is for how long, in all and at most.
	Orphans   int           `json:"orphans"`
	OrphanSum time.Duration `json:"orphanSum"`
	OrphanMax time.Duration `json:"orphanMax"`

	// Recoveries counts the faults after which somebody was granted a lock: from
	// the fault's end, or the crash, to the next grant on the locks that were in
	// use then. Unrecovered counts those after which nobody was.
	Recoveries  int           `json:"recoveries"`
	Unrecovered int           `json:"unrecovered"`
	RecoverySum time.Duration `json:"recoverySum"`
	RecoveryMax time.Duration `json:"recoveryMax"`
}

// Measure works out a trial's progress. It is a pure function of the evidence, in
// O(n log n); an impossible history has none.
func Measure(e history.Evidence) Progress {
	return Progress{}
}
