package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// recipes returns the libraries' locks, in a fixed order.
func recipes() []locks.Recipe { return slices.Concat(goZeroRecipes(), valkeylockRecipes()) }

// promises returns the claims of a lock: the lease ends ttl after it began, and the key expires
// after life.
func promises(id string, ttl, life time.Duration) history.Claims {
	return history.Claims{Lock: id, Quorum: 1, TTL: ttl, Recovery: life}
}

// perKey returns a Recipe.New. It calls connect once for each client process, and lock once for
// each handle on a key.
func perKey[conn any](connect func(*locks.Client) (conn, error), lock func(c conn, key string, ttl time.Duration) (locks.Lock, error)) func(*locks.Client) (locks.Maker, error) {
	return func(client *locks.Client) (locks.Maker, error) {
		c, err := connect(client)
		if err != nil {
			return nil, err
		}
		return func(key string, ttl time.Duration) (locks.Lock, error) {
			if key == "" || ttl < time.Millisecond {
				return nil, fmt.Errorf("lock %q with a lease of %v: expected a name and at least 1ms", key, ttl)
			}
			return lock(c, key, ttl)
		}, nil
	}
}
