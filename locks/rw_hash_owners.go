package locks

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// rwHashOwners is one side of a corrected rw-hash. One hash has a field for each reader and
// one for the writer. Each field has its own deadline by the node's clock. Clients never overwrite
// or remove another client's field before its deadline, and no client's clock decides who gets in. A
// crashed client's field ends at its own deadline, even if later readers prolong the hash.
//
// Unlock returns ErrNotHeld if it does not find the caller's field.
type rwHashOwners struct {
	handle
	mode string // read or write
}

func init() {
	Register(Recipe{
		ID:       "rw-hash-owners",
		Document: "D4",
		Summary:  "Lua: no living writer (to write: nor reader): HSET key token|write <server's ms + TTL>, PEXPIRE; held for TTL - elapsed · Lua: HDEL of the caller's",
		Topology: Single,
		Claims:   claims("rw-hash-owners", wholeMilliseconds, history.Claims{ReadWrite: true}, ownersEnter, ownersLeave),
		Flaws:    rwHashOwnersFlaws,
		New: onOneNode(func(h handle) (Lock, error) {
			return rwLock{&rwHashOwners{h, "write"}, &rwHashOwners{h, "read"}}, nil
		}),
	})
}

var rwHashOwnersFlaws = flaws(
	deadlineCheckedTooEarly(), readerMoved(), serverClock(), prolongedKey(), serverLostKey(), may(clientClockFaults, orphanedKey()),
)

// readerMoved is deadlineMoved for a read-write lock. Under client-skew it may not show: if the frozen
// client is a reader, it shows only if a writer gets in next.
func readerMoved() []Flaw {
	group := deadlineMoved("exclusion", "resource")
	for i := range group {
		group[i].Faults, group[i].Also = []string{mixed}, group[i].Faults
	}
	return group
}

// ownersEnter returns 1 if it lets the caller in, else 0. It lets a reader in unless a writer is
// in, and a writer unless any client is in. A reader's field is named by its token; the writer's
// field is "write". Each field's value is the deadline, by this node's clock, and the token. A
// successful entry removes expired fields, and gives the hash the same deadline as its new field. So all
// clients need the same lease time: one with a shorter lease would shorten the other readers' leases.
// KEYS[1] is the lock, ARGV[1] read or write, ARGV[2] the token, ARGV[3] the lease in milliseconds.
var ownersEnter = newScript("owners-enter", `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields, past = redis.call("HGETALL", KEYS[1]), {}
for i = 1, #fields, 2 do
  if tonumber(string.match(fields[i + 1], "^%d+")) < now then
    past[#past + 1] = fields[i]
  elseif ARGV[1] == "write" or fields[i] == "write" then
    return 0
  end
end
for _, field in ipairs(past) do
  redis.call("HDEL", KEYS[1], field)
end
local field = ARGV[1] == "write" and "write" or ARGV[2]
redis.call("HSET", KEYS[1], field, string.format("%.0f", now + ARGV[3]) .. ":" .. ARGV[2])
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return 1`)

// ownersLeave removes the caller's field. It returns 1, or 0 if the caller had no field.
// KEYS[1] is the lock, ARGV[1] read or write, ARGV[2] the token.
var ownersLeave = newScript("owners-leave", `
local field = ARGV[1] == "write" and "write" or ARGV[2]
local mine = redis.call("HGET", KEYS[1], field)
if mine and string.match(mine, ":(.*)$") == ARGV[2] then
  return redis.call("HDEL", KEYS[1], field)
end
return 0`)

// TryLock implements Lock. It releases a grant that arrives after the end of its lease.
func (l *rwHashOwners) TryLock(ctx context.Context) (Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	lease, start := Lease{Token: token}, time.Now()
	reply := ownersEnter.Run(ctx, l.node(), []string{l.key}, l.mode, token, milliseconds(l.ttl))
	if err := acquired(reply, l.key); err != nil {
		return lease, err
	}
	if !l.client.claim(&lease, start, l.ttl) {
		return lease, tooLate(l.Unlock(ctx, lease))
	}
	return lease, nil
}

// Unlock implements Lock.
func (l *rwHashOwners) Unlock(ctx context.Context, lease Lease) error {
	return released(ownersLeave.Run(ctx, l.node(), []string{l.key}, l.mode, lease.Token), l.key)
}
