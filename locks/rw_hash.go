package locks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// rwHash is one side of D4's read-write lock for a cluster. One hash holds the time at which
// the latest reader entered and the time at which the writer entered, by the clients' own clocks.
// There are three flaws. A second reader overwrites the first reader's time, so the second reader's
// release lets a writer in beside the first reader. The clients' clocks decide whose entry still
// counts. Readers that enter in the same millisecond are the same owner.
//
// The release script returns nothing, so Unlock never returns ErrNotHeld.
type rwHash struct {
	handle
	field string // read or write
}

func init() {
	Register(Recipe{
		ID:       "rw-hash",
		Document: "D4",
		Summary:  "Lua: no living write (to write: nor read): HSET key read|write <client's ms>, PEXPIRE · Lua: HDEL of the caller's ms",
		Topology: Single,
		Claims: claims("rw-hash", func(ttl time.Duration) time.Duration { return wholeMilliseconds(rwHashWriteLife * ttl) },
			history.Claims{ReadWrite: true, ClientClock: true}, hashRead, hashWrite, hashForget),
		Flaws: rwHashFlaws,
		New:   onOneNode(func(h handle) (Lock, error) { return rwLock{&rwHash{h, "write"}, &rwHash{h, "read"}}, nil }),
	})
}

var rwHashFlaws = flaws(
	under(anyFault, "race", Bug,
		"A second reader overwrites the first's time: when it leaves, no reader is left in the hash, and the script grants a writer beside the first.",
		"D4, cluster version: one field for all readers", "exclusion", "resource"),
	may([]string{"client-pause", "delay", "node-pause"}, under([]string{"client-skew"}, "client-clock", Bug,
		"A writer whose clock is ahead overwrites the time of another writer, although that time is not past.",
		"D4, cluster version: the time is the client's", "ownership")),
	// Two readers enter in the same millisecond by chance. A complete run sees this in its trials
	// without a fault; under a fault it may see it.
	may(anyFault, foreignDelete(
		"Two readers who enter in the same millisecond are one owner: the first to leave removes the time of both.",
		"D4, cluster version: the release compares the time alone", "none")),
	may([]string{"delay", "node-pause"}, under([]string{"client-skew", "client-pause"}, "client-clock", Bug,
		"The caller's clock decides whether others are still in: a clock that is ahead, or a time that was read long before it arrived, cuts a lease short; Redis could have counted the time.",
		"D4, cluster version: the time is the client's", "exclusion", "resource")),
	may([]string{"hung-work"}, under([]string{mixed}, "foreign-renewal", Bug,
		"A reader that overwrites the time of another reader, whose work hangs, prolongs the other's lease.",
		"D4, cluster version: one field for all readers", "ownership")),
	// The key lives for ten lease times, so a jump of the node's clock by less than nine of them
	// does not matter.
	may([]string{"node-clock"}, under([]string{mixed}, "server-clock", Limit,
		"A node whose wall clock jumps forward by more than the key's life forgets all clients that hold the lock.", redisClock, "exclusion", "resource")),
	leaseOutlived(), workOutlived("D4, cluster version"), serverLostKey(),
	orphanedUnder(strandingFaults), staleTime("D4, cluster version"),
)

// In D4 a read lives 1 s, a write 3 s and the key 10 s. Here a read lives one lease time, and the
// other TTLs are multiples of it.
const (
	rwHashWriteLife = 3
	rwHashKeyLife   = 10
)

// hashRead lets a reader in and returns 1. It returns 0 if the hash has a writer's time that lies at
// most ARGV[2] ms in the past, or in the future.
// KEYS[1] is the lock. ARGV, all in milliseconds: [1] now by the client's clock, [2] a write's
// TTL, [3] the key's TTL.
var hashRead = newScript("hash-read", `
local write = redis.call("HGET", KEYS[1], "write")
if write and ARGV[1] - write <= tonumber(ARGV[2]) then
  return 0
end
redis.call("HSET", KEYS[1], "read", ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return 1`)

// hashWrite sets the writer's time and returns 1. It returns 0 if the hash has a writer's time that
// lies at most ARGV[2] ms in the past, or a reader's time that lies at most ARGV[4] ms in the past.
// A time in the future counts too.
// KEYS[1] is the lock. ARGV, all in milliseconds: [1] now by the client's clock, [2] a write's
// TTL, [3] the key's TTL, [4] a read's TTL.
var hashWrite = newScript("hash-write", `
local write = redis.call("HGET", KEYS[1], "write")
if write and ARGV[1] - write <= tonumber(ARGV[2]) then
  return 0
end
local read = redis.call("HGET", KEYS[1], "read")
if read and ARGV[1] - read <= tonumber(ARGV[4]) then
  return 0
end
redis.call("HSET", KEYS[1], "write", ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return 1`)

// hashForget removes the caller's time, if nobody has overwritten it. It returns nothing, so the
// caller does not learn the result.
// KEYS[1] is the lock, ARGV[1] the field, ARGV[2] the caller's time in milliseconds.
var hashForget = newScript("hash-forget", `
if redis.call("HGET", KEYS[1], ARGV[1]) == ARGV[2] then
  redis.call("HDEL", KEYS[1], ARGV[1])
end`)

// TryLock implements Lock. The lease's token is the client's time in milliseconds.
func (l *rwHash) TryLock(ctx context.Context) (Lease, error) {
	now := l.client.Now().UnixMilli()
	enter, args := hashRead, []any{now, milliseconds(rwHashWriteLife * l.ttl), milliseconds(rwHashKeyLife * l.ttl)}
	if l.field == "write" {
		enter, args = hashWrite, append(args, milliseconds(l.ttl))
	}
	reply := enter.Run(ctx, l.node(), []string{l.key}, args...)
	return Lease{Token: strconv.FormatInt(now, 10)}, acquired(reply, l.key)
}

// Unlock implements Lock: it removes the lease's time from the field, if the time is still there. It never
// returns ErrNotHeld.
func (l *rwHash) Unlock(ctx context.Context, lease Lease) error {
	err := hashForget.Run(ctx, l.node(), []string{l.key}, l.field, lease.Token).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("release %q: %w", l.key, err)
	}
	return nil
}
