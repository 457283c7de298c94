package ports

import (
	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// hieroRejoin is a bug in RedisLockStrategy of the Hiero JSON-RPC relay 0.76: a waiting client that
// another client removed from the queue, for example after a pause, waits for ever for its turn.
var hieroRejoin = bug.Bug{
	Name:     "hiero-rejoin",
	Title:    "hiero-ledger/hiero-json-rpc-relay #5287",
	Link:     "https://github.com/hiero-ledger/hiero-json-rpc-relay/pull/5287",
	FixedIn:  "0.77.0",
	Language: "TypeScript",
	Story:    "The next client in the queue removed a waiting client that had been paused. The removed client then waited for ever for its turn. The trials under client-pause, eviction and other faults are undecided, not violated: the liveness oracle blames keys that keep clients out, and here no key does.",
	Options:  locktest.Options{Blocking: true},
	Before:   hieroQueued(hieroLock{heartbeats: true}),
	After:    hieroQueued(hieroLock{heartbeats: true, rejoins: true}),
}
