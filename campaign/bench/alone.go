package bench

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// RoundTrips returns how many round trips the commands took: the length of the longest chain in
// which each command was sent after the reply to the previous one. So commands of one pipeline, and
// commands that go to several nodes at once, are one round trip. A command without a reply ends a
// chain. Handshakes and PING do not count.
func RoundTrips(commands []history.Command) int {
	const never = time.Duration(math.MaxInt64)
	replied := func(c history.Command) time.Duration {
		if c.Replied == 0 {
			return never
		}
		return c.Replied
	}
	// Greedy interval scheduling finds the longest chain: among the intervals that begin at or
	// after the end of the last one taken, always take the one that ends first.
	byReply := slices.SortedFunc(slices.Values(commands), func(a, b history.Command) int { return cmp.Compare(replied(a), replied(b)) })
	trips, free := 0, time.Duration(0)
	for _, c := range byReply {
		if c.N > 0 && c.Sent >= free {
			trips, free = trips+1, replied(c)
		}
	}
	return trips
}

// Cost is the number of commands and of round trips of one operation, and its duration.
type Cost struct {
	Commands, RoundTrips int
	Took                 time.Duration // from the invocation to the completion
}

// Costs returns the cost of each operation of kind f (history.FAcquire, history.FRelease) that
// ended with ok, in order of invocation. An operation's commands are those that its client sent
// during the operation (Command.Op). The error says why the history is impossible.
func Costs(e history.Evidence, f string) ([]Cost, error) {
	pairs, err := history.Pairs(e.Ops)
	if err != nil {
		return nil, err
	}
	sent := map[int][]history.Command{} // by the index of the invocation
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

// quantile returns the smallest value v such that at least the share q of all values are ≤ v; ok is
// false if there are no values.
func quantile[T cmp.Ordered](values []T, q float64) (v T, ok bool) {
	if len(values) == 0 {
		return v, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)], true
}

func each[T any](costs []Cost, of func(Cost) T) []T {
	all := make([]T, len(costs))
	for i, c := range costs {
		all[i] = of(c)
	}
	return all
}
