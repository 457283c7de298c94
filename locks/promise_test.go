package locks

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

func TestEveryRecipeMakesClaimsThatCanBeMeant(t *testing.T) {
	for _, r := range All() {
		for _, ttl := range []time.Duration{10 * time.Millisecond, time.Second, 90 * time.Second} {
			nodes := 1
			if r.Topology == Independent {
				nodes = 5
			}
			if err := r.CheckClaims(ttl, nodes); err != nil {
				t.Errorf("for a lease of %v: %v", ttl, err)
			}
		}
	}
}

func TestClaimsThatCannotBeMeantAreNamed(t *testing.T) {
	good := history.Claims{Quorum: 1, TTL: time.Second, Recovery: time.Second}
	for want, spoil := range map[string]func(*history.Claims){
		"":                             func(*history.Claims) {},
		"mine: Claims.TTL is 0s":       func(c *history.Claims) { *c = history.Claims{} },
		"Claims.Quorum is 0":           func(c *history.Claims) { c.Quorum = 0 },
		"Claims.Quorum is 2":           func(c *history.Claims) { c.Quorum = 2 },
		"Claims.QuorumOf is \"votes\"": func(c *history.Claims) { c.QuorumOf = "votes" },
		"Claims.Recovery is 1ms":       func(c *history.Claims) { c.Recovery = time.Millisecond },
		"Claims.Recovery is 0":         func(c *history.Claims) { c.Recovery, c.Renews = 0, true },
		"Claims.Permits is -1":         func(c *history.Claims) { c.Permits = -1 },
		"Claims.Timeout is -1s":        func(c *history.Claims) { c.Timeout = -time.Second },
		"Claims.Away is -1s":           func(c *history.Claims) { c.Away = -time.Second },
	} {
		c := good
		spoil(&c)
		r := Recipe{ID: "mine", Claims: func(time.Duration, int) history.Claims { return c }}
		if err := r.CheckClaims(time.Second, 1); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", c, err, want)
		}
	}
}

func TestAQuorumOfKeysIsOnOneNode(t *testing.T) {
	claims := func(time.Duration, int) history.Claims {
		return history.Claims{
			Quorum: 3, QuorumOf: history.QuorumOfKeys, TTL: time.Second, Recovery: time.Second,
		}
	}
	r := Recipe{ID: "mine", Claims: claims}
	if err := r.CheckClaims(time.Second, 1); err != nil {
		t.Errorf("three keys on one node: %v", err)
	}
	if err := r.CheckClaims(time.Second, 5); err == nil || !strings.Contains(err.Error(), "Claims.QuorumOf is keys") {
		t.Errorf("three keys on five nodes: got %v", err)
	}
	if c := claims(0, 0); c.NodeQuorum() != 1 || c.KeyQuorum() != 3 {
		t.Errorf("%d nodes and %d keys must grant, want 1 and 3", c.NodeQuorum(), c.KeyQuorum())
	}
}
