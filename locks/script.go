package locks

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// script is a Lua script that a recipe runs, together with what it does to its
// keys, so that oracles can read the wire log without interpreting Lua.
type script struct {
	name    string
	source  string
	effects map[string][]history.Effect
	run     *redis.Script
}

// newScript names a script and declares its effects: a map from the reply, in
// history.Command.Reply's compact form, to what the script then did. A reply
// that is missing had no effect; "*" stands for every other reply.
func newScript(name, source string, effects map[string][]history.Effect) *script {
	return &script{name: name, source: source, effects: effects, run: redis.NewScript(source)}
}

// Run sends EVALSHA and, only if the node says NOSCRIPT (then nothing ran),
// EVAL with the source: go-redis's way, and the only repetition there is. A Lua
// false or nil arrives as redis.Nil; what that means is the recipe's business.
func (s *script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd {
	return s.run.Run(ctx, c, keys, args...)
}

// claim is the script's declaration for history.Claims.
func (s *script) claim() history.Script {
	return history.Script{Name: s.name, SHA1: s.run.Hash(), Effects: maps.Clone(s.effects)}
}

// compareAndDelete is the owner-checked release of D0, D1, D2 and D3: 1 if the
// key held the token and is gone now, 0 if it did not.
// KEYS[1] the lock, ARGV[1] the token.
var compareAndDelete = newScript("compare-and-delete", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`, map[string][]history.Effect{
	"1": {{Kind: history.EffectDelete}},
})

// compareAndPExpire is the owner-checked extension ("Distributed Locks with Redis":
// "Extending the lock"): 1 if the key held the token and lives on for ARGV[2]
// milliseconds, 0 if it did not.
// KEYS[1] the lock, ARGV[1] the token, ARGV[2] milliseconds.
var compareAndPExpire = newScript("compare-and-pexpire", `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`, map[string][]history.Effect{
	"1": {{Kind: history.EffectExpire, TTLArg: 2, TTLUnit: time.Millisecond}},
})

// extendOwned extends by compareAndPExpire: ErrNotHeld if the key was gone or
// carried another token, any other error: unknown.
func extendOwned(ctx context.Context, c redis.Scripter, key, token string, ttl time.Duration) error {
	extended, err := compareAndPExpire.Run(ctx, c, []string{key}, token, milliseconds(ttl)).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("extend %q: %w", key, err)
	case extended == 0:
		return ErrNotHeld
	}
	return nil
}

// releaseOwned releases by compareAndDelete: ErrNotHeld if the key was gone or
// carried another token, any other error: unknown.
func releaseOwned(ctx context.Context, c redis.Scripter, key, token string) error {
	deleted, err := compareAndDelete.Run(ctx, c, []string{key}, token).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("release %q: %w", key, err)
	case deleted == 0:
		return ErrNotHeld
	}
	return nil
}
