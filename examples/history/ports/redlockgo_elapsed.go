package ports

import (
	"time"

	"example.com/history/ports/bug"
)

// redlockgoElapsed is a bug in RedLock.Lock of redlock-go in December 2014, redlock/redlock.go: the
// validity subtracts the seconds that the acquire took from a lease in milliseconds.
var redlockgoElapsed = bug.Bug{
	Name:     "redlock-go-elapsed",
	Title:    "amyangfei/redlock-go 9ced80a",
	Link:     "https://github.com/amyangfei/redlock-go/commit/9ced80a",
	FixedIn:  "9ced80a",
	Language: "Go",
	Story:    "The time that acquiring took was counted in seconds and subtracted from milliseconds: a holder that had waited long for a slow node was told that nearly the whole lease was left.",
	Options:  five,
	Before: redlock(func(ttl, elapsed time.Duration) time.Duration {
		return right(ttl, elapsed.Truncate(time.Second)/1000)
	}),
	After: redlock(right),
	Fault: "client-pause", Flaw: "exclusion by lease-outlived",
	OtherBugsLeft: true,
}
