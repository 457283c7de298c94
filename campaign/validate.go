package campaign

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// sensible returns an input.Error if verdicts on the cells would be meaningless: a recipe's claims
// are implausible, or clients would hold a lock for longer than it promises.
func (p *planner) sensible(cells ...plannedCell) error {
	for _, c := range cells {
		if c.lack != nil {
			continue
		}
		s := p.spec(c, "", 0)
		if err := c.recipe.CheckClaims(s.Options.TTL, s.Voters()); err != nil {
			return &input.Error{Err: err}
		}
		if err := p.config.checkHold(c.recipe, s); err != nil {
			return err
		}
	}
	return nil
}

// checkHold refuses holds that outlive the lease: each would be a violation of the client's own
// making. It allows them if Overrun asks for them, or if the lease is renewed or never ends.
func (c Config) checkHold(r locks.Recipe, s trial.Spec) error {
	claims := s.PromisedBy(r)
	lease := claims.TTL
	longest := c.Hold * 3 / 2
	if c.Overrun > 0 || claims.Renews || claims.Recovery == 0 || longest < lease {
		return nil
	}
	return input.Errorf("%s %v: holds last 0.5 to 1.5 times as long, and a lease of %s ends after %v (%s %v): expected %s below %v, a longer %s, or %s for holds that are to outlive it", input.Setting("hold"), c.Hold, r.ID, lease, input.Setting("ttl"), c.TTL, input.Setting("hold"), (lease * 2 / 3).Truncate(time.Millisecond), input.Setting("ttl"), input.Setting("overrun"))
}

// testsSomething returns an input.Error with the reasons if no planned cell can be tested.
func testsSomething(cells []plannedCell) error {
	var whys []string
	for _, c := range cells {
		if c.lack == nil {
			return nil
		}
		if why := c.lack.Error(); !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
	}
	return testsNothing(whys)
}

// testsSomething returns an input.Error with the reasons if every cell of the finished campaign is not
// supported. Some cells turn out to be unsupported only when their trials run.
func (m Matrix) testsSomething() error {
	var whys []string
	for _, c := range m.Cells {
		if c.Verdict != trial.NotSupported {
			return nil
		}
		if !slices.Contains(whys, c.Why) {
			whys = append(whys, c.Why)
		}
	}
	return testsNothing(whys)
}

func testsNothing(whys []string) error {
	return input.Errorf("nothing can be tested: no chosen recipe supports a chosen fault and workload: %s", strings.Join(whys, "; "))
}
