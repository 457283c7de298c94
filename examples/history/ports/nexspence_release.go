package ports

import (
	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// nexspenceRelease is a bug in RedisLocker of Nexspence, internal/distlock/redis.go: the release
// deletes the key without comparing the token, and so may delete the next holder's key.
var nexspenceRelease = bug.Bug{
	Name:     "nexspence-release",
	Title:    "nexspence/nexspence #223",
	Link:     "https://github.com/nexspence/nexspence/issues/223",
	FixedIn:  "#226",
	Language: "Go",
	Story:    "Acquire stored a token that Release never read: a cleanup that took longer than its lease freed the lock of the node that had taken over.",
	Before: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteAny(rdb)}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb)}
	}),
	Fault: "client-pause", Flaw: "exclusion by foreign-delete",
}
