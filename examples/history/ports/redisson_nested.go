package ports

import (
	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redissonNested is a bug in RReadWriteLock of Redisson 2.9.2: if a writer also acquires the read
// lock and releases it, the release removes the write lock too.
var redissonNested = bug.Bug{
	Name:     "redisson-nested",
	Title:    "redisson/redisson #891",
	Link:     "https://github.com/redisson/redisson/issues/891",
	FixedIn:  "2.9.3",
	Language: "Java",
	Story:    "A writer that also took the lock for reading, and released the read lock, removed the whole lock: it still worked as the writer, and others got in. (The adapter takes the lock for writing, and then also for reading.)",
	Options:  locktest.Options{Reentrant: true},
	Before:   redisson292.nested(rwClient.write, rwClient.read),
	After:    redisson293.nested(rwClient.write, rwClient.read),
	Fault:    "partition-replies", Flaw: "exclusion by race",
	OtherBugsLeft: true,
}
