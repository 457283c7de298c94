package documents

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
)

// renewal measures, with and without renewal, how often a slow holder shares its lock and how long a hung
// holder keeps it. Items of D0, D2 and D3 cite the figures. D0, for example, says that with a watchdog a slow
// holder loses its lock less often.
var renewal = Experiment{
	ID:   "renewal",
	Asks: "How often does a slow holder share its lock, and how long does a hung one keep it, with and without renewal?",
	How: "Three clients take the lock in turn for 60 s, with a lease of 1 s; every critical section lasts for as many leases as the column says. The figures count acquisitions that came while another was still in. " +
		"*Hung*: in 20 other runs a client never leaves its first critical section, though its timers go on; the column says when another got in, from the shortest to the longest of the 20, each of 1 minute.",
	run: runRenewal,
}

// renewing are the compared recipes: some renew, and some do not.
var renewing = []string{"set-nx-px", "set-nx-px-watchdog", "set-nx-ex-bounded-renewal", "reentrant-hash", "reentrant-hash-watchdog", "redisson", "redisson-renews-each-lease", "redisson-lease"}

// leases are the durations of the work, in tenths of a lease.
var leases = []int{8, 12, 20, 30, 60}

func runRenewal(ctx context.Context, l lab) (result Result, err error) {
	result.Columns = []string{"recipe", "renews"}
	for _, tenths := range leases {
		result.Columns = append(result.Columns, fmt.Sprintf("overlaps at %d.%d leases", tenths/10, tenths%10))
	}
	result.Columns = append(result.Columns, "hung: another got in")
	slow, total := map[string]int{}, map[string]int{}
	hung := map[string]string{}
	var fits usage
	for _, id := range renewing {
		r, err := recipe(id)
		if err != nil {
			return result, err
		}
		cells := []any{id, wording.YesNo(r.Claims(time.Second, 1).Renews)}
		for _, tenths := range leases {
			u := renewalUsers(r, l.seed)
			u.work, u.lasts = time.Duration(tenths)*u.ttl/10, time.Minute
			used, err := l.use(ctx, u)
			if err != nil {
				return result, err
			}
			cells = append(cells, fmt.Sprintf("%d of %d", used.overlaps(), len(used.grants)))
			if id == "set-nx-px" && tenths < 10 {
				fits = used
			}
			if tenths > 10 {
				slow[id] += used.overlaps()
				total[id] += len(used.grants)
			}
		}
		if hung[id], err = l.besideHung(ctx, r); err != nil {
			return result, err
		}
		result.row(append(cells, hung[id])...)
	}
	result.says("reduces", "Of acquisitions beside work of 1.2 to 6 leases, set-nx-px shared %d of %d with a slow holder, set-nx-px-watchdog %d of %d.",
		slow["set-nx-px"], total["set-nx-px"], slow["set-nx-px-watchdog"], total["set-nx-px-watchdog"])
	result.says("fits", "With work of 0.8 leases, set-nx-px shared %d of %d acquisitions; with 1.2 leases and more, %d of %d.", fits.overlaps(), len(fits.grants), slow["set-nx-px"], total["set-nx-px"])
	result.says("bounded", "D3's own renewal, a whole lease apart and four times at most, still shared %d of %d.", slow["set-nx-ex-bounded-renewal"], total["set-nx-ex-bounded-renewal"])
	result.says("hash", "Without renewal the hash shared %d of %d; with D2's timer %d of %d.",
		slow["reentrant-hash"], total["reentrant-hash"], slow["reentrant-hash-watchdog"], total["reentrant-hash-watchdog"])
	result.says("coin", "Beside a holder that hangs, another got in %s without renewal, %s with D0's watchdog, and %s with D3's four renewals, in 20 runs of each with a lease of 1 s.",
		hung["set-nx-px"], hung["set-nx-px-watchdog"], hung["set-nx-ex-bounded-renewal"])
	result.says("redisson", "Renewing every third of the lease, redisson shared %d of %d; as the document has it, %d of %d.",
		slow["redisson"], total["redisson"], slow["redisson-renews-each-lease"], total["redisson-renews-each-lease"])
	result.says("lease", "With a time of the caller's it shared %d of %d.", slow["redisson-lease"], total["redisson-lease"])
	return result, nil
}

// renewalUsers returns the users of the experiment, without work and duration.
func renewalUsers(r locks.Recipe, seed uint64) users {
	return users{recipe: r, clients: 3, seed: seed, ttl: time.Second, rest: 50 * time.Millisecond, retry: 20 * time.Millisecond}
}

// hungRuns is the number of runs with a hung holder, each with its own seed. Several are needed:
// if a renewal comes just as the key expires, the seed decides which is first.
const hungRuns = 20

// besideHung says in words when another client acquired the lock of a hung holder, over all runs: for
// example "never" or "after 1.0 to 2.0 s in 12 runs of 20".
func (l lab) besideHung(ctx context.Context, r locks.Recipe) (string, error) {
	var after []time.Duration
	for n := range uint64(hungRuns) {
		u := renewalUsers(r, l.seed<<16+n)
		u.clients, u.work, u.lasts, u.hangs = 2, u.ttl/10, time.Minute, 1
		used, err := l.use(ctx, u)
		if err != nil {
			return "", err
		}
		if d, ok := used.after(0); ok {
			after = append(after, d)
		}
	}
	if len(after) == 0 {
		return "never", nil
	}
	least, most := slices.Min(after).Seconds(), slices.Max(after).Seconds()
	text := fmt.Sprintf("after %.1f s", most)
	if most-least >= 0.1 {
		text = fmt.Sprintf("after %.1f to %.1f s", least, most)
	}
	if len(after) < hungRuns {
		text += fmt.Sprintf(" in %d runs of %d", len(after), hungRuns)
	}
	return text, nil
}

// after returns the time from the client's first grant to the next grant of another client,
// and whether there was one.
func (u usage) after(client int) (time.Duration, bool) {
	for _, g := range u.grants {
		if g.client != client {
			continue
		}
		for _, other := range u.grants {
			if other.client != client && other.got > g.got {
				return other.got - g.got, true
			}
		}
	}
	return 0, false
}
