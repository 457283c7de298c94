package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// script is a Lua script of a recipe. Reports show the script's name.
type script struct {
	name   string
	source string
	run    *redis.Script
}

func newScript(name, source string) *script {
	return &script{name: name, source: source, run: redis.NewScript(source)}
}

// Run sends EVALSHA. If the node replies NOSCRIPT, nothing ran, and Run sends EVAL with the source,
// as go-redis does. It repeats nothing else. A Lua false or nil arrives as redis.Nil; the recipe
// interprets it.
func (s *script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd {
	return s.run.Run(ctx, c, keys, args...)
}

// compareAndDelete is the owner-checked release of D0, D1, D2 and D3. If the key holds the token,
// the script deletes the key and returns 1; else it returns 0.
// KEYS[1] is the lock, ARGV[1] the token.
var compareAndDelete = newScript("compare-and-delete", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`)

// compareAndPExpire is the owner-checked extension ("Distributed Locks with Redis": "Extending the
// lock"). If the key holds the token, the script sets the key's TTL to ARGV[2] milliseconds and
// returns 1; else it returns 0.
// KEYS[1] is the lock, ARGV[1] the token, ARGV[2] the lease in milliseconds.
var compareAndPExpire = newScript("compare-and-pexpire", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)

// extendOwned extends the lease by compareAndPExpire. ErrNotHeld: the key is gone or has another
// token. Any other error: the outcome is unknown.
func extendOwned(ctx context.Context, c redis.Scripter, key, token string, ttl time.Duration) error {
	return done(compareAndPExpire.Run(ctx, c, []string{key}, token, milliseconds(ttl)), ErrNotHeld, "extend", key)
}

// releaseOwned releases the lock by compareAndDelete. ErrNotHeld: the key is gone or has another
// token. Any other error: the outcome is unknown.
func releaseOwned(ctx context.Context, c redis.Scripter, key, token string) error {
	return released(compareAndDelete.Run(ctx, c, []string{key}, token), key)
}
