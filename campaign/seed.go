package campaign

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// trialSeed derives a trial's seed from the campaign's seed and from the trial's names and number, so
// that the seed does not depend on other trials.
func trialSeed(campaign uint64, lock, fault, workload string, k int) uint64 {
	return seedOf(campaign, lock, fault, workload, strconv.Itoa(k))
}

// fixedSeed replaces the campaign's seed where a trial must not depend on it: in named
// schedules, and in the probe that finds them.
const fixedSeed = 1

func scheduleSeed(lock, fault, workload, schedule string) uint64 {
	return seedOf(fixedSeed, lock, fault, workload, schedule)
}

func seedOf(campaign uint64, lock, fault, workload, number string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s\x00%s", campaign, lock, fault, workload, number))
	return binary.BigEndian.Uint64(sum[:8]) & trial.MaxSeed
}

// swarm varies the sizes of a trial in a mix of faults: many clients on two locks may show what two
// clients on one lock do not, and vice versa. The sizes are a pure function of the trial's seed. A
// size that the user chose stays. All sizes are drawn nevertheless, so that the other draws do not
// depend on the user's choices.
func (c Config) swarm(o *workloads.Options, renews bool) {
	r := rand.New(rand.NewPCG(o.Seed, 0x5157))
	clients, keys := 2+r.IntN(4), 1+r.IntN(2)
	hold, rest := pick(r, 40, 20, 10, 5), pick(r, 100, 40, 20, 5)
	overrun := pick(r, 0, 0.25, 0.5)
	if c.Clients == 0 {
		o.Clients = clients
	}
	if c.Keys == 0 {
		o.Keys = keys
	}
	if c.Hold == 0 {
		o.Hold = c.TTL / time.Duration(hold)
	}
	if c.Rest == 0 {
		o.Rest = c.TTL / time.Duration(rest)
	}
	if c.Overrun < 0 && renews {
		o.Overrun = overrun
	}
}

// pace varies how often clients ask for a busy lock in a drawn trial of the simulation: from every twentieth to every
// third of a lease, and never more often than Config.retry. Clients that ask often fill a trial with
// refused attempts, above all with five nodes, so most trials draw the longer intervals; clients that ask seldom leave
// time in which nobody asks. The interval is a pure function of the trial's seed. Named schedules keep the shortest interval.
func (c Config) pace(o *workloads.Options) {
	r := rand.New(rand.NewPCG(o.Seed, 0x9ace))
	o.Retry = max(o.Retry, c.TTL/pick[time.Duration](r, 20, 10, 5, 5, 4, 4, 3, 3))
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }
