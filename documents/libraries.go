package documents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/locks/peers"
)

// libraries measures D3's advice to use a third party's library. It covers the Go libraries of package
// peers.
var libraries = Experiment{
	ID:   "libraries",
	Asks: "What do libraries do better than the locks that D3 builds?",
	How: "Three clients take the lock in turn for 30 s, with a lease of 1 s and work of 1.2 leases: every holder is late. *Trusting* holders work on whatever happens, *careful* ones stop at the deadline of their lease or when the lock tells them that it is lost. " +
		"The figures count acquisitions that came while another was in, and releases that removed another's key. redsync, redislock and rueidislock are Go libraries, unmodified; redisson is Redisson's protocol as D3 tells it.",
	run: runLibraries,
}

// usual are the recipes of the libraries in their usual configuration.
var usual = []string{"redsync", "redsync-quorum", "redislock", "rueidislock"}

func runLibraries(ctx context.Context, l lab) (result Result, err error) {
	result.Columns = []string{"lock", "whose", "overlaps, trusting", "overlaps, careful", "removed another's key"}
	subjects := map[string][]locks.Recipe{"library": slices.DeleteFunc(peers.Recipes(), func(r locks.Recipe) bool { return !slices.Contains(usual, r.ID) })}
	for _, id := range []string{"setnx-expire", "set-nx-ex", "set-nx-px", "set-nx-ex-bounded-renewal", "redlock", "redisson"} {
		r, err := recipe(id)
		if err != nil {
			return result, err
		}
		subjects["D3"] = append(subjects["D3"], r)
	}
	removed, told := map[string]string{}, map[string]string{}
	for _, whose := range []string{"D3", "library"} {
		for _, r := range subjects[whose] {
			var overlaps []string
			var late string
			for _, careful := range []bool{false, true} {
				used, err := l.use(ctx, users{
					recipe: r, clients: 3, seed: l.seed, ttl: time.Second, work: 1200 * time.Millisecond,
					rest: 50 * time.Millisecond, retry: 50 * time.Millisecond, lasts: 30 * time.Second, careful: careful,
				})
				if err != nil {
					return result, err
				}
				overlaps = append(overlaps, fmt.Sprintf("%d of %d", used.overlaps(), len(used.grants)))
				if !careful {
					late = "–"
					if r.Topology == locks.Single {
						late = fmt.Sprint(used.removedAnothers())
					}
				}
			}
			removed[r.ID], told[r.ID] = late, overlaps[1]
			result.row(r.ID, whose, overlaps[0], overlaps[1], late)
		}
	}
	if told["redsync"] == "" || told["rueidislock"] == "" {
		return result, errors.New("a library is missing")
	}
	result.says("safer", "Releases that came late removed another's key %s times with the document's setnx-expire and %s with set-nx-ex, %s with redsync, %s with redislock and %s with rueidislock.",
		removed["setnx-expire"], removed["set-nx-ex"], removed["redsync"], removed["redislock"], removed["rueidislock"])
	result.says("late", "None keeps a late holder from sharing its lock unless it renews or the holder looks at its deadline. Acquisitions beside a careful holder: %s with set-nx-px, %s with redsync, %s with redislock, %s with rueidislock, which renews.",
		told["set-nx-px"], told["redsync"], told["redislock"], told["rueidislock"])
	return result, nil
}
