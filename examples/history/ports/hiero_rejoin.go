package ports

import (
	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// hieroRejoin is RedisLockStrategy of the Hiero JSON-RPC relay 0.76.
var hieroRejoin = bug.Bug{
	Name:     "hiero-rejoin",
	Title:    "hiero-ledger/hiero-json-rpc-relay #5287",
	Link:     "https://github.com/hiero-ledger/hiero-json-rpc-relay/pull/5287",
	FixedIn:  "0.77.0",
	Language: "TypeScript",
	Story:    "The next in the queue removed a waiter that had been paused for a while, which then waited for ever for a turn that could not come. Its trials are undecided and not violations, under client-pause, eviction and others: the liveness oracle blames keys that keep clients out, and here none does.",
	Options:  locktest.Options{Blocking: true},
	Before:   hieroQueued(hieroLock{heartbeats: true}),
	After:    hieroQueued(hieroLock{heartbeats: true, rejoins: true}),
}
