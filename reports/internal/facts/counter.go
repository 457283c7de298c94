package facts

import (
	"strconv"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// fenceCounters returns the keys that only count fencing tokens, such as "{orders}:fence". Such a
// key carries no client's grant: all clients increment the number, and it stays after a release.
//
// A counter is a string that never had a TTL and that no command removed. An acquire that was
// granted a fencing token wrote the token to the counter, and also changed another key.
func fenceCounters(e history.Evidence, pairs []history.Pair, keys *keyspace.Keys) map[keyspace.NodeKey]bool {
	fences := fencesOf(pairs)
	counts, other := map[keyspace.NodeKey]bool{}, map[keyspace.NodeKey]bool{}
	touched := map[int]map[keyspace.NodeKey]bool{} // the keys that an operation changed, by its invocation
	for _, s := range keys.Steps {
		c := e.Keys[s.Change]
		at := keyspace.NodeKey{Node: c.Node, Key: string(c.Key)}
		if c.By == history.ByCommand && c.After == nil || c.After != nil && (c.After.Type != "string" || c.After.Expires > 0) {
			other[at] = true
		}
		if s.Cmd < 0 || e.Commands[s.Cmd].Op < 0 || c.After == nil {
			continue
		}
		op := e.Commands[s.Cmd].Op
		if touched[op] == nil {
			touched[op] = map[keyspace.NodeKey]bool{}
		}
		touched[op][at] = true
		if fence, ok := fences[op]; ok && string(c.After.Value) == strconv.FormatInt(fence, 10) {
			counts[at] = true
		}
	}
	for at := range counts {
		withOthers := false
		for op := range fences {
			withOthers = withOthers || touched[op][at] && len(touched[op]) > 1
		}
		if other[at] || !withOthers {
			delete(counts, at)
		}
	}
	return counts
}

// fencesOf returns the fencing tokens that were granted, by the index of the acquire's invocation.
func fencesOf(pairs []history.Pair) map[int]int64 {
	fences := map[int]int64{}
	for _, p := range pairs {
		if p.Invoke.F == history.FAcquire && p.Done() == history.OK && p.Complete.Lease != nil && p.Complete.Lease.Fence > 0 {
			fences[p.Invoke.Index] = p.Complete.Lease.Fence
		}
	}
	return fences
}
