package ports

import (
	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redissonUnwatched is a bug in RReadLock of Redisson 3.8.0, with its watchdog: the watchdog does
// not renew the keys with the ends of the readers' leases, so a reader that leaves may remove the
// lock of the others.
var redissonUnwatched = bug.Bug{
	Name:     "redisson-unwatched",
	Title:    "redisson/redisson #1604",
	Link:     "https://github.com/redisson/redisson/issues/1604",
	FixedIn:  "2.13.1 and 3.8.1",
	Language: "Java",
	Story:    "The watchdog renewed the lock, but not the key with the end of a reader's lease: the next reader that left removed the lock while others still read.",
	Options:  locktest.Options{Renews: true},
	Before:   redisson355.watched(renewOwnField).subject(),
	After:    redisson355.watched(renewReaders(allOwners)).subject(),
	Fault:    "none", Flaw: "exclusion by foreign-delete",
	OtherBugsLeft: true,
}
