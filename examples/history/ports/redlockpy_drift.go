package ports

import (
	"time"

	"example.com/history/ports/bug"
)

// redlockpyDrift is a bug in Redlock.lock of redlock-py 1.0.2, redlock/__init__.py: the validity
// adds the allowance for clock drift instead of subtracting it.
var redlockpyDrift = bug.Bug{
	Name:     "redlock-py-drift",
	Title:    "SPSCommerce/redlock-py #3",
	Link:     "https://github.com/SPSCommerce/redlock-py/pull/3",
	FixedIn:  "1ab1090",
	Language: "Python",
	Story:    "The allowance for clock drift was subtracted twice, so that it was added: a holder was told to work on after its keys had expired.",
	Options:  five,
	Before:   redlock(func(ttl, elapsed time.Duration) time.Duration { return ttl - (elapsed - drift(ttl)) }),
	After:    redlock(right),
	Fault:    "client-crash", Flaw: "exclusion by lease-outlived",
	OtherBugsLeft: true,
}
