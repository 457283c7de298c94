package ports

import (
	"time"

	"example.com/history/ports/bug"
)

// potteryElapsed is a bug in Redlock.acquire of Pottery 0.42, pottery/redlock.py: the validity does
// not subtract the time that the acquire took.
var potteryElapsed = bug.Bug{
	Name:     "pottery-elapsed",
	Title:    "brainix/pottery 2e0f01e",
	Link:     "https://github.com/brainix/pottery/commit/2e0f01e",
	FixedIn:  "2e0f01e",
	Language: "Python",
	Story:    "The time that acquiring took was not subtracted from the lease: a caller that had waited for nodes it could not reach got a lock whose keys had expired on those it could.",
	Options:  five,
	Before:   untold(redlock(func(ttl, _ time.Duration) time.Duration { return ttl - drift(ttl) })),
	After:    untold(redlock(right)),
	Fault:    "node-restart", Flaw: "exclusion by lease-outlived",
	OtherBugsLeft: true,
}
