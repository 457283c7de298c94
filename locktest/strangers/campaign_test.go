package strangers

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// Even with few trials and without shrinking, a campaign with --expect ends with exit code 1 if a
// lock without declared flaws grants every acquire.
func TestWhoGrantsEverybodyEndsACampaignWithOne(t *testing.T) {
	const id = "grants-everybody"
	i := slices.IndexFunc(All(), func(s Stranger) bool { return s.ID == id })
	if _, known := locks.ByID(id); !known {
		locks.Register(All()[i].Recipe())
	}
	c := campaign.DefaultConfig()
	c.Testbed, c.Store, c.Locks, c.Faults = "sim", t.TempDir(), []string{id}, []string{"none"}
	c.Trials, c.Expect = 1, true
	s, err := campaign.Campaign{Config: c, Testbed: sim.New()}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if code := s.Matrix.ExitCode(true); code != campaign.ExitUnexpected {
		t.Errorf("exit code %d, want %d", code, campaign.ExitUnexpected)
	}
	if !slices.ContainsFunc(s.Matrix.Unexpected, func(x campaign.Discrepancy) bool { return x.Oracle == "exclusion" && x.Cause == string(checker.Race) }) {
		t.Errorf("not declared: %+v, want exclusion by race among it", s.Matrix.Unexpected)
	}
}
