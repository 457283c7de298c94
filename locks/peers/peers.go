// Package peers makes recipes of other people's lock libraries, unmodified, so that
// they can be tried as ours are. Its adapters add nothing to a library but the
// three-way answers of locks.Lock, and say of each where the library leaves open what
// happened. None is registered by itself.
package peers

import (
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Recipes returns the libraries' locks, in a fixed order. What they promise is their
// documentation's word; they declare no flaws.
func Recipes() []locks.Recipe {
	return []locks.Recipe{redsyncOnOne(), redsyncQuorum(), redislockRecipe(), rueidislockRecipe()}
}

// promises are those of a lease after which others get in.
func promises(id string, ttl time.Duration) history.Claims {
	return history.Claims{Lock: id, Quorum: 1, TTL: ttl, Recovery: ttl}
}

// perKey is Recipe.New for libraries whose handle is made for a key.
func perKey(lock func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error)) func(*locks.Client) (locks.Maker, error) {
	return func(c *locks.Client) (locks.Maker, error) {
		return func(key string, ttl time.Duration) (locks.Lock, error) {
			if key == "" || ttl < time.Millisecond {
				return nil, fmt.Errorf("lock %q with a lease of %v: expected a name and at least 1ms", key, ttl)
			}
			return lock(c, key, ttl)
		}, nil
	}
}
