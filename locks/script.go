package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// script is a Lua script that a recipe runs, with a name for reports.
type script struct {
	name   string
	source string
	run    *redis.Script
}

func newScript(name, source string) *script {
	return &script{name: name, source: source, run: redis.NewScript(source)}
}

// Run sends EVALSHA and, only if the node says NOSCRIPT (then nothing ran), EVAL with
// the source, as go-redis does; it repeats nothing else. A Lua false or nil arrives as
// redis.Nil; the recipe interprets it.
func (s *script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd {
	return s.run.Run(ctx, c, keys, args...)
}

// compareAndDelete is the owner-checked release of D0, D1, D2 and D3: 1 if the
// key held the token and is gone now, 0 if it did not.
// KEYS[1] the lock, ARGV[1] the token.
var compareAndDelete = newScript("compare-and-delete", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`)

// compareAndPExpire is the owner-checked extension ("Distributed Locks with Redis":
// "Extending the lock"): 1 if the key held the token and lives on for ARGV[2]
// milliseconds, 0 if it did not.
// KEYS[1] the lock, ARGV[1] the token, ARGV[2] milliseconds.
var compareAndPExpire = newScript("compare-and-pexpire", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)

// extendOwned extends by compareAndPExpire: ErrNotHeld if the key was gone or
// carried another token, any other error: unknown.
func extendOwned(ctx context.Context, c redis.Scripter, key, token string, ttl time.Duration) error {
	return done(compareAndPExpire.Run(ctx, c, []string{key}, token, milliseconds(ttl)), ErrNotHeld, "extend", key)
}

// releaseOwned releases by compareAndDelete: ErrNotHeld if the key was gone or
// carried another token, any other error: unknown.
func releaseOwned(ctx context.Context, c redis.Scripter, key, token string) error {
	return released(compareAndDelete.Run(ctx, c, []string{key}, token), key)
}
