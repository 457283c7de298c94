package locks

import "slices"

// Document is a source of recipes. Recipe.Document and Flaw.Source cite it by its ID.
type Document struct {
	ID    string // "D0" to "D4", "R" or "K"
	Title string
	Gives string // the locks that the document describes
}

var documents = []Document{
	{"D0", "Go+Redis mutex and red lock", "SET NX PX with compare-and-delete, a watchdog, blocking by a ticker, RedLock in parallel"},
	{"D1", "Redis distributed lock and its optimisation", "Java/Spring: SETNX and EXPIRE, GETSET timestamps, then Lua, then an owner; bounded polling"},
	{"D2", "Distributed lock by Redis", "SET NX PX, the reentrant hash in Lua, automatic renewal"},
	{"D3", "Redis series 13: distributed lock", "Jedis from the simple idea to bounded renewal and local re-entry; Redisson; RedLock"},
	{"D4", "Redis distributed read-write lock", "two keys on a single node; one hash for Redis Cluster"},
	{"R", "redis.io documentation", "RedLock with drift and delayed restarts (\"Distributed Locks with Redis\"); WAIT"},
	{"K", "M. Kleppmann, How to do distributed locking (2016)", "fencing tokens"},
}

// Documents returns the sources of the recipes in a fixed order.
func Documents() []Document { return slices.Clone(documents) }
