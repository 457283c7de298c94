// Package mutants holds deliberately broken variants of good recipes, such as set-nx-px without NX.
// Each mutant has one typical human mistake. The tests must catch every mutant: if no named schedule
// shows a flaw that the mutant has and its recipe does not have, the harness has a blind spot.
//
// A mutant is not the recipe's own code: the package writes each good recipe anew, so that mistakes
// can be put in. The control of a mutant is that same code without the mistake.
//
// All mutants were written before any of them was run.
package mutants

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Mutant is a recipe with one mistake.
type Mutant struct {
	ID   string // the mutant's recipe id, "mutant-release-without-compare"
	Of   string // the id of the good recipe
	Doc  string // the mistake, in one sentence
	lock maker
	// control is the same lock without the mistake: any difference in behaviour between lock and
	// control is due to the mistake.
	control maker
	// extends says that the lock and its control can extend their leases.
	extends bool
	// scripts are the Lua scripts that the lock and its control run.
	scripts []*script
}

// maker makes a client's handle on a lock.
type maker func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error)

// family returns a function that makes mutants of the good recipe "of". The function good makes a client's
// handle on the good recipe, written anew; a mistake changes the handle. scripts are the Lua scripts of
// the good recipe, and more those that the mistake adds.
func family[L locks.Lock](of string, good func(c *locks.Client, key string, ttl time.Duration) L, scripts ...*script) func(id, doc string, mistake func(L), more ...*script) Mutant {
	lock := func(mistake func(L)) maker {
		return func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
			l := good(c, key, ttl)
			mistake(l)
			return l, nil
		}
	}
	return func(id, doc string, mistake func(L), more ...*script) Mutant {
		return Mutant{
			ID: "mutant-" + id, Of: of, Doc: doc, scripts: slices.Concat(scripts, more),
			lock: lock(mistake), control: lock(func(L) {}),
		}
	}
}

// All returns every mutant, in a fixed order.
func All() []Mutant {
	return slices.Concat(singles(), hashes(), watchdogs(), quorums(), fences(), readWrites(), replicas())
}

// Recipe returns the mutant as a recipe. It makes the claims of the good recipe, but it claims extensions
// only if it has them, and it declares no flaw. The error says that the good recipe is not registered.
func (m Mutant) Recipe() (locks.Recipe, error) { return m.recipe(m.ID, m.Doc, m.lock) }

// Control returns the lock without the mistake, as a recipe.
func (m Mutant) Control() (locks.Recipe, error) {
	return m.recipe(m.ID+"-control", "the same without the mistake", m.control)
}

func (m Mutant) recipe(id, summary string, lock maker) (locks.Recipe, error) {
	good, ok := locks.ByID(m.Of)
	if !ok {
		return locks.Recipe{}, fmt.Errorf("mutant %s: no recipe is called %q", m.ID, m.Of)
	}
	r := good
	r.ID, r.Summary, r.Flaws = id, summary, nil
	r.Claims = func(ttl time.Duration, nodes int) history.Claims {
		c := good.Claims(ttl, nodes)
		c.Lock, c.ScriptNames, c.Extends = id, map[string]string{}, m.extends
		for _, s := range m.scripts {
			c.ScriptNames[s.run.Hash()] = s.name
		}
		return c
	}
	r.New = func(c *locks.Client) (locks.Maker, error) {
		return func(key string, ttl time.Duration) (locks.Lock, error) { return lock(c, key, ttl) }, nil
	}
	return r, nil
}

// script is a Lua script with the name that reports show. A mutant's script has the name of the good
// script.
type script struct {
	name, source string
	run          *redis.Script
}

func newScript(name, source string) *script {
	return &script{name, source, redis.NewScript(source)}
}

// but returns the script with one part replaced by another, under the same name.
func (s *script) but(part, other string) *script {
	return newScript(s.name, strings.Replace(s.source, part, other, 1))
}

// one runs the script with one key.
func (s *script) one(ctx context.Context, c redis.Scripter, key string, args ...any) *redis.Cmd {
	return s.run.Run(ctx, c, []string{key}, args...)
}

// steps is a lock made of two functions.
type steps struct {
	acquire func(context.Context) (locks.Lease, error)
	release func(context.Context, locks.Lease) error
}

// TryLock implements locks.Lock.
func (s steps) TryLock(ctx context.Context) (locks.Lease, error) { return s.acquire(ctx) }

// Unlock implements locks.Lock.
func (s steps) Unlock(ctx context.Context, l locks.Lease) error { return s.release(ctx, l) }

func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
func seconds(d time.Duration) int64      { return int64((d + time.Second - 1) / time.Second) }
