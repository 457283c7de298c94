package ports

import (
	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redissonNested is RReadWriteLock of Redisson 2.9.2.
var redissonNested = bug.Bug{
	Name:     "redisson-nested",
	Title:    "redisson/redisson #891",
	Link:     "https://github.com/redisson/redisson/issues/891",
	FixedIn:  "2.9.3",
	Language: "Java",
	Story:    "A writer that took the lock for reading as well, and released that, removed the whole lock: it worked on as the writer, and others got in. (The adapter takes the lock for writing, and for reading while it has it.)",
	Options:  locktest.Options{Reentrant: true},
	Before:   redisson292.nested(rwClient.write, rwClient.read),
	After:    redisson293.nested(rwClient.write, rwClient.read),
	Fault:    "partition-replies", Flaw: "exclusion by race",
	OtherBugsLeft: true,
}
