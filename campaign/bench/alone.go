package bench

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// RoundTrips returns how many round trips these commands took: the length of the longest
// chain in which each command was sent after the reply to the one before it. So commands of
// one pipeline, and commands that go to several nodes at once, are one round trip. A command
// without a reply has no successor in a chain. Handshakes and PING do not count.
func RoundTrips(commands []history.Command) int {
	const never = time.Duration(math.MaxInt64)
	replied := func(c history.Command) time.Duration {
		if c.Replied == 0 {
			return never
		}
		return c.Replied
	}
	// The longest chain of intervals takes, again and again, the one that ends first among
	// those that begin after the last one's end.
	byReply := slices.SortedFunc(slices.Values(commands), func(a, b history.Command) int { return cmp.Compare(replied(a), replied(b)) })
	trips, free := 0, time.Duration(0)
	for _, c := range byReply {
		if c.N > 0 && c.Sent >= free {
			trips, free = trips+1, replied(c)
		}
	}
	return trips
}

// Cost is what one operation cost.
type Cost struct {
	Commands, RoundTrips int
	Took                 time.Duration // from the invocation to the completion
}

// Costs returns the cost of each operation of this kind (history.FAcquire, history.FRelease)
// that ended with ok, in order of invocation. Its commands are those that its client sent
// while it was open. The error says why the history is impossible.
func Costs(e history.Evidence, f string) ([]Cost, error) {
	pairs, err := history.Pairs(e.Ops)
	if err != nil {
		return nil, err
	}
	sent := map[int][]history.Command{} // by invocation
	for _, c := range e.Commands {
		if c.N > 0 && c.Op >= 0 {
			sent[c.Op] = append(sent[c.Op], c)
		}
	}
	var all []Cost
	for _, p := range pairs {
		if p.Invoke.F != f || p.Invoke.Process == history.Nemesis || p.Done() != history.OK {
			continue
		}
		of := sent[p.Invoke.Index]
		all = append(all, Cost{Commands: len(of), RoundTrips: RoundTrips(of), Took: p.Complete.Time - p.Invoke.Time})
	}
	return all, nil
}

// quantile returns the least value that at least the share q of all values do not exceed; ok
// is false if there are none.
func quantile[T cmp.Ordered](values []T, q float64) (v T, ok bool) {
	if len(values) == 0 {
		return v, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)], true
}

// each returns one figure of every cost.
func each[T any](costs []Cost, of func(Cost) T) []T {
	all := make([]T, len(costs))
	for i, c := range costs {
		all[i] = of(c)
	}
	return all
}
