package locks

import (
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// CheckClaims returns an error that names the first implausible field of the recipe's claims for a
// lease time and a number of nodes, such as a Quorum of 0. The checker judges a lock by its claims,
// so with implausible claims a broken lock might pass. If all fields are plausible, the error is
// nil.
func (r Recipe) CheckClaims(ttl time.Duration, nodes int) error {
	c := r.Claims(ttl, nodes)
	for _, wrong := range []struct {
		is  bool
		why string
	}{
		{c.TTL != ttl, fmt.Sprintf("TTL is %v: expected the lease time that is asked for, %v", c.TTL, ttl)},
		{c.QuorumOf != "" && c.QuorumOf != history.QuorumOfNodes && c.QuorumOf != history.QuorumOfKeys,
			fmt.Sprintf("QuorumOf is %q: expected %q or %q", c.QuorumOf, history.QuorumOfNodes, history.QuorumOfKeys)},
		{c.Quorum < 1 || c.NodeQuorum() > nodes, fmt.Sprintf("Quorum is %d: expected how many of %d nodes must grant", c.Quorum, nodes)},
		{c.QuorumOf == history.QuorumOfKeys && nodes > 1, fmt.Sprintf("QuorumOf is keys, which are on one node: expected a topology of one, not of %d", nodes)},
		{c.Recovery != 0 && c.Recovery < ttl, fmt.Sprintf("Recovery is %v: after a crash no client can get in before the lease of %v is over; 0 = never", c.Recovery, ttl)},
		{c.Renews && c.Recovery == 0, "Recovery is 0 (no client ever gets in after a crash), but Renews says that the lease ends without renewal"},
		{c.Permits < 0, fmt.Sprintf("Permits is %d: expected how many owners hold the lock at a time; 0 = 1", c.Permits)},
		{c.Timeout < 0, fmt.Sprintf("Timeout is %v: expected the shortest time after which a command without an answer is given up; 0 = no shorter than a tenth of the lease time", c.Timeout)},
		{c.Away < 0, fmt.Sprintf("Away is %v: expected how long a node stays away; 0 = not at all", c.Away)},
	} {
		if wrong.is {
			return fmt.Errorf("recipe %s: Claims.%s", r.ID, wrong.why)
		}
	}
	return nil
}
