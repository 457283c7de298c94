package story

import (
	"fmt"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
)

// missedRenewals returns the steps that explain why the holder sent no renewal. Steps about the key and the faults
// describe other reasons.
func (t *teller) missedRenewals() []Step {
	var out []Step
	for _, r := range t.Finding.Account.Reasons {
		switch {
		case len(r.Clients) == 0:
		case r.What == account.RenewalStopped:
			out = append(out, t.renewalStopped(r))
		case r.What == account.RenewedInstead:
			out = append(out, t.renewedInstead(r))
		}
	}
	return out
}

func (t *teller) renewalStopped(r account.Fact) Step {
	var locks []string
	for _, l := range r.Locks {
		locks = append(locks, quoted(l))
	}
	return Step{At: r.Since, On: history.ClientName(r.Clients[0]), Weight: turning, Text: fmt.Sprintf(
		"c%d released %s, which it also held. After that it sent no renewal of %s any more", r.Clients[0], wording.List(locks), quoted(t.Finding.Lock))}
}

func (t *teller) renewedInstead(r account.Fact) Step {
	leases := fmt.Sprintf("%d %s", r.Count, wording.Plural(r.Count, "lease"))
	return Step{At: r.Read, On: history.ClientName(r.Clients[0]), Weight: turning, Text: fmt.Sprintf(
		"until %s c%d sent renewals of %s that it had released, and none of the one that it held. It never renewed more than %s at a time",
		wording.Instant(r.Until), r.Clients[0], leases, leases)}
}
