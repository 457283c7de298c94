package ports

import (
	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redissonZombies is a bug in RReadLock of Redisson 4.3, with its watchdog: a reader's watchdog
// renews the leases of all readers, also of dead ones.
var redissonZombies = bug.Bug{
	Name:     "redisson-zombies",
	Title:    "redisson/redisson #7098",
	Link:     "https://github.com/redisson/redisson/pull/7098",
	FixedIn:  "4.4.0",
	Language: "Java",
	Story:    "A reader's watchdog renewed the leases of all readers, dead ones too: as long as any reader was alive, a dead reader's lease did not end.",
	Options:  locktest.Options{Renews: true},
	Before:   redisson3440.watched(renewReaders(allOwners)).subject(),
	After:    redisson3440.watched(renewReaders(ownOnly)).subject(),
	Fault:    "none", Flaw: "ownership by foreign-renewal",
	OtherBugsLeft: true,
}
