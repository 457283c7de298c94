// Package peers makes recipes of other projects' lock libraries, unmodified, so that
// they can be tested like ours. Its adapters only map a library's results to the
// three-way answers of locks.Lock, and document where the library leaves open what
// happened. They are not registered automatically.
package peers

import (
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Recipes returns the libraries' locks, in a fixed order. Their promises come from
// their documentation; they declare no flaws.
func Recipes() []locks.Recipe {
	return []locks.Recipe{redsyncOnOne(), redsyncQuorum(), redislockRecipe(), rueidislockRecipe()}
}

// promises are those of a lease: others get in after it.
func promises(id string, ttl time.Duration) history.Claims {
	return history.Claims{Lock: id, Quorum: 1, TTL: ttl, Recovery: ttl}
}

// perKey is Recipe.New for libraries with a handle per key.
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
