package campaign

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
)

// The choice "standard" of workloads includes those that a lock's claims ask for, such as "extend": otherwise
// nothing would show what its extensions do.
func TestALockIsTriedInAllThatItClaims(t *testing.T) {
	for _, c := range []struct {
		name   string
		claims history.Claims
		choice []string
		want   []string
	}{
		{"plain", history.Claims{}, []string{"standard"}, []string{"mutex"}},
		{"extends", history.Claims{Extends: true}, []string{"standard"}, []string{"extend", "mutex"}},
		{"waits", history.Claims{Waits: true}, []string{"standard"}, []string{"cancel", "mutex"}},
		{"both, readers", history.Claims{Extends: true, Waits: true, ReadWrite: true}, []string{"standard"}, []string{"read-write"}},
		{"another choice", history.Claims{Extends: true, Waits: true}, []string{"mutex"}, []string{"mutex"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Cleanup(func() { locks.Unregister("own") })
			locks.Register(locks.Recipe{ID: "own", Topology: locks.Single, Claims: func(ttl time.Duration, nodes int) history.Claims {
				claims := c.claims
				claims.TTL, claims.Recovery, claims.Quorum = ttl, ttl, nodes/2+1
				return claims
			}})
			config := DefaultConfig()
			config.Locks, config.Faults, config.Workloads = []string{"own"}, []string{"delay"}, c.choice
			p, err := planAll(&trialtest.Bed{}, config)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.cells[0].workloads; !slices.Equal(got, c.want) {
				t.Errorf("it is tried in %q, want %q (%v)", got, c.want, p.cells[0].lack)
			}
		})
	}
}
