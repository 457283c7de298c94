package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// foundatioUnits is a bug in RenewAsync of Foundatio.Redis 10.2.0, Scripts/ReplaceIfEqual.lua: the
// renewal passes a number of seconds to SET PX, so that a renewed lease of 30 s ends after 30 ms.
var foundatioUnits = bug.Bug{
	Name:     "foundatio-units",
	Title:    "FoundatioFx/Foundatio.Redis #73",
	Link:     "https://github.com/FoundatioFx/Foundatio.Redis/issues/73",
	FixedIn:  "10.2.2",
	Language: "C#",
	Story:    "Renewing passed seconds to SET PX: a lease of 30 s that was renewed ended 30 ms later.",
	Before: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb), extend: replaceIfEqual(rdb, "PX")}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb), extend: replaceIfEqual(rdb, "EX")}
	}),
	Fault: "none", Flaw: "exclusion by short-lease",
	OtherBugsLeft: true,
}

// replaceIfEqualScript sets the key if it has the token, and also if it does not exist.
var replaceIfEqualScript = redis.NewScript(`
local current = redis.call('get', KEYS[1])
if current == false or current == ARGV[1] then
  return redis.call('set', KEYS[1], ARGV[1], ARGV[2], ARGV[3]) and 1 or 0
end
return 0`)

// replaceIfEqual passes the TTL to SET as a number of seconds. The unit is the option of SET: EX is
// right; PX makes Redis read the number as milliseconds.
func replaceIfEqual(rdb *redis.Client, unit string) func(context.Context, string, string, time.Duration) (bool, error) {
	return func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
		return did(replaceIfEqualScript.Run(ctx, rdb, []string{key}, token, unit, int(ttl.Seconds())).Int64())
	}
}
