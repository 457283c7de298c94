package strangers

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
)

// Scripts of locks whose key has more than the owner's token: a refused client writes something beside it,
// and keeps the key's TTL. release deletes the key if the token stands at the value's beginning or, in a
// document, as its owner. KEYS[1] is the lock; ARGV[1] is the token, ARGV[2] the TTL in milliseconds.
var (
	takeOrCount = redis.NewScript(`
local value = redis.call('get', KEYS[1])
if value then
  local held = cjson.decode(value)
  held.asked = held.asked + 1
  redis.call('set', KEYS[1], cjson.encode(held), 'KEEPTTL')
  return 0
end
redis.call('set', KEYS[1], cjson.encode({owner = ARGV[1], asked = 0}), 'PX', ARGV[2])
return 1`)
	takeOrSign = redis.NewScript(`
local value = redis.call('get', KEYS[1])
if value then
  local held = cjson.decode(value)
  held.owner = ARGV[1]
  redis.call('set', KEYS[1], cjson.encode(held), 'KEEPTTL')
  return 0
end
redis.call('set', KEYS[1], cjson.encode({owner = ARGV[1], asked = 0}), 'PX', ARGV[2])
return 1`)
	takeOrAsk = redis.NewScript(`
local value = redis.call('get', KEYS[1])
if value then
  redis.call('set', KEYS[1], string.match(value, '^[^|]+') .. '|' .. ARGV[1], 'KEEPTTL')
  return 0
end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)
	takeBeside = redis.NewScript(`
local value = redis.call('get', KEYS[1])
if value then
  redis.call('set', KEYS[1], string.match(value, '^[^|]+') .. '|' .. ARGV[1], 'KEEPTTL')
  return 1
end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)
	releaseDocument = redis.NewScript(`
local value = redis.call('get', KEYS[1])
if value and cjson.decode(value).owner == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)
	releaseFirst = redis.NewScript(`
local value = redis.call('get', KEYS[1])
if value and string.match(value, '^[^|]+') == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)
)

// documents are locks whose key names more than its owner.
func documents() []Stranger {
	return []Stranger{
		{ID: "document-counts", Doc: "a JSON document with the owner's token, in which refused clients count their attempts", Right: true,
			bind: of(inOneValue(takeOrCount, releaseDocument))},
		{ID: "document-signed", Doc: "the same, but a refused client puts its own token in the owner's place", bind: of(inOneValue(takeOrSign, releaseDocument))},
		{ID: "owner-and-asker", Doc: "the value is the owner's token and that of the client that asked last", Right: true,
			bind: of(inOneValue(takeOrAsk, releaseFirst))},
		{ID: "owner-beside-owner", Doc: "the same, but who asks is let in", bind: of(inOneValue(takeBeside, releaseFirst))},
		{ID: "document-counts-number", Doc: "document-counts, whose tokens are numbers", Right: true, bind: of(numbered(takeOrCount, releaseDocument))},
		{ID: "document-signed-number", Doc: "document-signed, whose tokens are numbers", bind: of(numbered(takeOrSign, releaseDocument))},
		{ID: "document-counts-untold", Doc: "document-counts, which tells nobody its tokens", Right: true,
			bind: of(untold(inOneValue(takeOrCount, releaseDocument)))},
		{ID: "document-signed-untold", Doc: "document-signed, which tells nobody its tokens", bind: of(untold(inOneValue(takeOrSign, releaseDocument)))},
		{ID: "owner-and-asker-untold", Doc: "owner-and-asker, which tells nobody its tokens", Right: true, bind: of(untold(inOneValue(takeOrAsk, releaseFirst)))},
		{ID: "owner-beside-owner-untold", Doc: "owner-beside-owner, which tells nobody its tokens", bind: of(untold(inOneValue(takeBeside, releaseFirst)))},
	}
}

// untold returns the lock without the token in its lease. The handle itself keeps the token of its last grant.
func untold(lock func(lease) locks.Lock) func(lease) locks.Lock {
	return func(l lease) locks.Lock {
		inner, held := lock(l), locks.Lease{}
		return steps{
			func(ctx context.Context) (locks.Lease, error) {
				got, err := inner.TryLock(ctx)
				if err == nil {
					held = got
				}
				return locks.Lease{}, err
			},
			func(ctx context.Context, _ locks.Lease) error { return inner.Unlock(ctx, held) },
		}
	}
}

// numbered is inOneValue with tokens that are numbers.
func numbered(take, release *redis.Script) func(lease) locks.Lock {
	return func(l lease) locks.Lock {
		return steps{
			func(ctx context.Context) (locks.Lease, error) {
				drawn, err := l.c.Token()
				if err != nil {
					return locks.Lease{}, err
				}
				token := fmt.Sprint(crc32.ChecksumIEEE([]byte(drawn)))
				return locks.Lease{Token: token}, granted(take.Run(ctx, l.node(), []string{l.key}, token, l.life()))
			},
			l.drop(release, l.key),
		}
	}
}

// inOneValue returns a lock of two scripts that reads and writes one value.
func inOneValue(take, release *redis.Script) func(lease) locks.Lock {
	return func(l lease) locks.Lock {
		keys := []string{l.key}
		return steps{l.take(take, keys...), l.drop(release, keys...)}
	}
}

func init() {
	signed := promised{
		allowed: all(limits(), wrong(checker.Race, "ownership"), wrong(checker.OrphanedKey, "liveness"), wrong(checker.Starved, "liveness")),
		rows:    rows(under(columns, finds("", "ownership", checker.Race))),
	}
	beside := promised{
		unseen:  true,
		allowed: all(limits(), wrong(checker.Unclassified, beliefs...), wrong(checker.Race, "exclusion", "resource", "ownership")),
		rows:    []row{finds("none", "exclusion", checker.Unclassified)},
	}
	maps.Copy(table, map[string]promised{
		"document-counts": plain(), "document-counts-untold": plain(), "document-counts-number": plain(), "owner-and-asker": plain(), "owner-and-asker-untold": plain(),
		"document-signed": signed, "document-signed-untold": signed, "document-signed-number": signed, "owner-beside-owner": beside, "owner-beside-owner-untold": beside,
	})
}
