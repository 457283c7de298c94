package mutants

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// Parts of the scripts of rw-hash-owners; the function takes joins them. The lock is a hash with a field
// for each reader ("r:token") and a field for the writer ("w:token"). A field's value is its deadline,
// by the node's clock. KEYS[1] is the lock; ARGV[1] is the field, ARGV[2] the TTL in milliseconds, and
// ARGV[3] the client's time in milliseconds, which only a mutant reads (clientTime).
const (
	serverTime = `
local t = redis.call("TIME")
local now = t[1] * 1000 + math.floor(t[2] / 1000)`
	clientTime = `
local now = tonumber(ARGV[3])`
	sweepEnded = `
local fields = redis.call("HGETALL", KEYS[1])
local readers, writers = 0, 0
for i = 1, #fields, 2 do
  if tonumber(fields[i + 1]) < now then
    redis.call("HDEL", KEYS[1], fields[i])
  elseif string.sub(fields[i], 1, 2) == "w:" then
    writers = writers + 1
  else
    readers = readers + 1
  end
end
if %s then
  return 0
end
redis.call("HSET", KEYS[1], ARGV[1], now + ARGV[2])
if redis.call("PTTL", KEYS[1]) < tonumber(ARGV[2]) then
  redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 1`
)

// takes returns a script that acquires the lock unless the Lua condition refuseIf holds, such as
// "writers > 0". clock is serverTime or clientTime.
func takes(name, clock, refuseIf string) *script {
	source := clock + fmt.Sprintf(sweepEnded, refuseIf)
	return newScript(name, source)
}

// The good scripts of readers and writers, the good release leaveField, and the bad release leaveAll.
var (
	readUnlessWritten = takes("owners-read", serverTime, "writers > 0")
	writeUnlessTaken  = takes("owners-write", serverTime, "readers + writers > 0")
	leaveField        = newScript("owners-leave", `return redis.call("HDEL", KEYS[1], ARGV[1])`)
	leaveAll          = newScript("owners-leave", `return redis.call("DEL", KEYS[1])`)
)

// owners is the good recipe rw-hash-owners, written anew so that its scripts can be replaced.
type owners struct {
	c     *locks.Client
	key   string
	ttl   time.Duration
	read  *script
	write *script
	leave *script
	// shared says that all readers use one field.
	shared bool
}

// Read implements locks.RWLocker.
func (l *owners) Read() locks.Lock { return l.side("r:", l.read) }

// Write implements locks.RWLocker.
func (l *owners) Write() locks.Lock { return l.side("w:", l.write) }

// TryLock implements locks.Lock for the writer.
func (l *owners) TryLock(ctx context.Context) (locks.Lease, error) { return l.Write().TryLock(ctx) }

// Unlock implements locks.Lock for the writer.
func (l *owners) Unlock(ctx context.Context, lease locks.Lease) error {
	return l.Write().Unlock(ctx, lease)
}

// side returns the read or the write lock. prefix is "r:" or "w:".
func (l *owners) side(prefix string, enter *script) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			token, err := l.c.Token()
			if err != nil {
				return locks.Lease{}, err
			}
			field := prefix + token
			if l.shared && strings.HasPrefix(prefix, "r") {
				field = prefix
			}
			asked := l.c.Now()
			n, err := enter.one(ctx, l.c.Nodes[0], l.key, field, milliseconds(l.ttl), asked.UnixMilli()).Int64()
			if err == nil && n == 0 {
				err = locks.ErrBusy
			}
			return locks.Lease{Token: field, Deadline: asked.Add(l.ttl)}, err
		},
		func(ctx context.Context, lease locks.Lease) error {
			return notHeld(l.leave.one(ctx, l.c.Nodes[0], l.key, lease.Token))
		},
	}
}

// readWrites returns the mutants of rw-hash-owners.
func readWrites() []Mutant {
	mutant := family("rw-hash-owners", func(c *locks.Client, key string, ttl time.Duration) *owners {
		return &owners{c: c, key: key, ttl: ttl, read: readUnlessWritten, write: writeUnlessTaken, leave: leaveField}
	}, readUnlessWritten, writeUnlessTaken, leaveField)
	writes := func(id, doc, refuseIf string) Mutant {
		s := takes("owners-write", serverTime, refuseIf)
		return mutant(id, doc, func(l *owners) { l.write = s }, s)
	}
	unasked := takes("owners-read", serverTime, "false")
	read, write := takes("owners-read", clientTime, "writers > 0"), takes("owners-write", clientTime, "readers + writers > 0")
	return []Mutant{
		writes("reader-not-counted", "the writer checks for writers only", "writers > 0"),
		mutant("writer-not-asked", "a reader does not check for a writer", func(l *owners) { l.read = unasked }, unasked),
		writes("two-writers", "the writer checks for readers only", "readers > 0"),
		mutant("one-field-for-all-readers", "the first reader that leaves removes the field of all readers", func(l *owners) { l.shared = true }),
		mutant("release-of-the-whole-hash", "a client that leaves removes the fields of all clients", func(l *owners) { l.leave = leaveAll }, leaveAll),
		mutant("ends-by-client-clock", "the clients' clocks decide whose lease has ended", func(l *owners) { l.read, l.write = read, write }, read, write),
	}
}
