package reports

import (
	"bytes"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/trial"
)

func TestBeside(t *testing.T) {
	stored := func(bed string, ttl time.Duration, cells ...campaign.Cell) campaign.Stored {
		s := campaign.Stored{Matrix: campaign.Matrix{Testbed: bed, Cells: cells}}
		s.Info.Config.TTL = ttl
		return s
	}
	cell := func(lock, fault string, v trial.Outcome, flaws ...trial.Flaw) campaign.Cell {
		c := campaign.Cell{Lock: lock, Fault: fault, Verdict: v, Flaws: flaws}
		if len(flaws) > 0 {
			c.Kind = flaws[0].Kind
		}
		return c
	}
	outlived := trial.Flaw{Oracle: "exclusion", Cause: "lease-outlived", Kind: locks.Limit}
	deleted := trial.Flaw{Oracle: "exclusion", Cause: "foreign-delete", Kind: locks.Bug}
	undeclared := trial.Flaw{Oracle: "exclusion", Cause: "race"}
	var b bytes.Buffer
	if err := SideBySide(&b,
		stored("sim", time.Second,
			cell("set-nx-px", "none", trial.Holds), cell("set-nx-px", "client-pause", trial.Violated, outlived),
			cell("redlock", "none", trial.Holds), cell("redlock", "failover", trial.NotSupported),
			cell("set-nx-ex", "client-pause", trial.Violated, deleted, outlived),
		),
		stored("process", time.Second,
			cell("set-nx-px", "none", trial.Holds), cell("set-nx-px", "client-pause", trial.Unknown),
			cell("redlock", "none", trial.Violated, undeclared), cell("redlock", "failover", trial.NotSupported),
			cell("set-nx-ex", "client-pause", trial.Violated, deleted),
		),
		stored("container", 2*time.Second, cell("set-nx-px", "client-pause", trial.Violated, outlived)),
	); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "beside.md", b.Bytes())
}
