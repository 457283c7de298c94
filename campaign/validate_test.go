package campaign

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
)

// unclaimedLock is a sound lock without claims: its author forgot them.
const unclaimedLock = "test-unclaimed"

func init() {
	r, _ := locks.ByID(trialtest.Sound)
	r.ID, r.Claims = unclaimedLock, func(time.Duration, int) history.Claims { return history.Claims{} }
	locks.Register(r)
}

func TestWhatWouldMakeVerdictsMeanNothingIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		lock   string
		change func(*Config)
		want   []string // parts of the error; nil = the campaign runs
	}{
		"claims that nobody made": {unclaimedLock, func(*Config) {}, []string{"recipe " + unclaimedLock + ": Claims.TTL is 0s"}},
		"a hold beyond the lease": {trialtest.Sound, func(c *Config) { c.Hold = 5 * time.Second }, []string{"hold 5s", "ttl 1s", "or overrun"}},
		"one that may be":         {trialtest.Sound, func(c *Config) { c.Hold = 700 * time.Millisecond }, []string{"hold 700ms", "below 666ms"}},
		"a hold that fits":        {trialtest.Sound, func(c *Config) { c.Hold = 600 * time.Millisecond }, nil},
		"asked for":               {trialtest.Sound, func(c *Config) { c.Hold, c.Overrun = 5*time.Second, 0.1 }, nil},
		"renewed":                 {renewingLock, func(c *Config) { c.Hold = 5 * time.Second }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			config := fakeConfig(t.TempDir(), c.lock)
			c.change(&config)
			p := newPlanner(config, &trialtest.Bed{})
			cells, err := p.cells()
			if err == nil {
				err = p.sensible(cells...)
			}
			var wrong *input.Error
			if errors.As(err, &wrong) != (c.want != nil) {
				t.Fatalf("got %v, want an InputError: %v", err, c.want != nil)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q in it", err, want)
				}
			}
		})
	}
}

func TestACampaignAndAReplayAskWhetherTheyMakeSense(t *testing.T) {
	config := fakeConfig(t.TempDir(), unclaimedLock)
	_, ran := Campaign{Config: config, Testbed: &trialtest.Bed{}}.Run(t.Context())
	_, planned := PlanTrial(t.Context(), &trialtest.Bed{}, config, unclaimedLock, undisturbed, "mutex", 0)
	for _, err := range []error{ran, planned} {
		if err == nil || !strings.Contains(err.Error(), "Claims.TTL") {
			t.Errorf("got %v, want what is wrong with the claims", err)
		}
	}
}
