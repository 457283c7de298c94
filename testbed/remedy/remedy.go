// Package remedy has the remedies that can be tried: each is an intervention of the simulation. A trial
// that repeats a violation with a remedy in force shows what the remedy does about it.
package remedy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/internal/input"
)

// Remedy is a measure against violations, as an intervention. While a remedy has nothing to do, the trial is the
// same as without it.
type Remedy struct {
	Name string
	// Does says what the intervention does in the simulation.
	Does string
	// Measure says what a team would do, as the beginning of a sentence.
	Measure string
	// Stops says that the remedy keeps the fault itself from having an effect.
	Stops bool
	// Rarer says that no real measure does all that the intervention does: the measure makes the violation rarer.
	Rarer bool
}

// Names of remedies.
const (
	AtomicRelease   = "atomic-release"
	AtomicTake      = "atomic-take"
	Clocks          = "clocks-agree"
	Durable         = "durable-node"
	Expiry          = "key-expires"
	Fence           = "fenced-resource"
	KeepWhileInUse  = "key-lives"
	NoLateMessage   = "no-late-message"
	NoOrphan        = "no-orphan"
	OnePrimary      = "one-primary"
	OwnRelease      = "owner-checked-release"
	OwnRenewal      = "owner-checked-renewal"
	StopsAtDeadline = "stop-at-deadline"
	UniqueToken     = "unique-token"
)

// all is the registry, in the order of what a team would try first.
var all = []Remedy{
	{Name: AtomicTake, Does: "refuses an acquire's write to a key that another client changed since the acquire's first command",
		Measure: "taking the lock in one atomic step: `SET key token NX PX ttl`, or one Lua script that looks and takes"},
	{Name: OwnRelease, Does: "refuses to remove a key whose value is not the releaser's",
		Measure: "an owner check on release: one Lua script that compares the key's value with the releaser's token and only then deletes it"},
	{Name: AtomicRelease, Does: "refuses a release's write to a key that another client changed since the release's first command",
		Measure: "looking and removing in one Lua script on release"},
	{Name: OwnRenewal, Does: "refuses to prolong a key whose value is not the renewer's",
		Measure: "an owner check on renewal and extension: one Lua script that compares the key's value with the renewer's token, prolongs it only then, and answers otherwise that the lock is lost"},
	{Name: UniqueToken, Does: "gives every attempt a value of its own: a read of another attempt's key differs from one's own value",
		Measure: "a token: a different value in the key for every attempt, so that a client can tell its own key from another's"},
	{Name: StopsAtDeadline, Does: "ends a holder's section at its first touch after the lease time, counted from before its attempt",
		Measure: "a holder that looks at its clock before every write and stops when its lease time is over; a pause between the look and the write stays possible"},
	{Name: KeepWhileInUse, Does: "keeps a key from expiring while its holder works",
		Measure: "a longer lease, or renewing it while its holder works, makes it rarer", Rarer: true},
	{Name: NoLateMessage, Does: "drops a command that arrives after the operation that sent it, or a lease time after its sending", Stops: true, Rarer: true,
		Measure: "closing a connection whose command got no answer makes commands rarer that arrive after their sender has given them up"},
	{Name: Expiry, Does: "gives a lock's key without a TTL the lease time, counted from its last change",
		Measure: "a TTL on the key, set by the command that takes the lock: `SET key token NX PX ttl`"},
	{Name: NoOrphan, Does: "removes a lock's key once the attempt that set it holds nothing any more, unless its client has crashed",
		Measure: "releasing what an attempt without an answer may have taken, by its token, until Redis answers"},
	{Name: Fence, Does: "numbers the grants, and the resource refuses a number below the greatest it saw",
		Measure: "a fencing token: a number that grows with every grant, and that the guarded resource compares so as to refuse an older one"},
	{Name: Durable, Does: "makes restarts, promotions and memory pressure lose nothing", Stops: true,
		Measure: "keeping what was acknowledged: `appendfsync always`, promoting only a replica that has every write, and `maxmemory-policy noeviction`"},
	{Name: OnePrimary, Does: "moves all clients to the new primary of a split at once", Stops: true,
		Measure: "one primary at any time: a quorum of independent nodes, or a store with consensus"},
	{Name: Clocks, Does: "ignores changes of clocks", Stops: true,
		Measure: "clocks that are slewed (slowed down or sped up) and never stepped"},
}

// All returns every remedy, in the order of what a team would try first.
func All() []Remedy { return slices.Clone(all) }

// Sort sorts names of remedies in the order of All.
func Sort(names []string) {
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(index(a), index(b)) })
}

func index(name string) int {
	return slices.IndexFunc(all, func(r Remedy) bool { return r.Name == name })
}

// Named returns the remedy with this name. The error is an input.Error if there is none.
func Named(name string) (Remedy, error) {
	if i := index(name); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
	}
	slices.Sort(names)
	return Remedy{}, input.Errorf("unknown remedy %q: expected one of %s (lockstorm list remedies)", name, strings.Join(names, ", "))
}
