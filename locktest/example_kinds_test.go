package locktest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// A read-write lock declares with Readers how readers acquire it. This lock has a mistake: a writer
// does not check for readers.
func ExampleClient_Readers() {
	subject := func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
		c.Cleanup(func() { _ = rdb.Close() })
		c.Readers(func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			busy, err := rdb.Exists(ctx, key).Result()
			if err == nil && busy > 0 {
				err = locktest.ErrBusy
			}
			return locktest.Held{Release: func(context.Context) error { return nil }}, err
		})
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			ok, err := rdb.SetNX(ctx, key, c.ID, ttl).Result()
			if err == nil && !ok {
				err = locktest.ErrBusy
			}
			return locktest.Held{Release: func(ctx context.Context) error { return rdb.Del(ctx, key).Err() }}, err
		}, nil
	}
	result, err := locktest.Check(context.Background(), subject, locktest.Options{Faults: []string{"none"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Faults[0].Violation.Flaws[0].Oracle, "is violated under", result.Faults[0].Fault)
	// Output:
	// exclusion is violated under none
}

// A Subject becomes a recipe for lockstorm.Main. Recipe has found out that the leases have a
// deadline. So a paused client is no excuse for two holders.
func ExampleRecipe() {
	recipe := locktest.Recipe("mine", until(-time.Second))
	_, excused := recipe.Declares("exclusion", "lease-outlived", "client-pause")
	fmt.Println(recipe.ID, recipe.Topology, excused)
	// Output:
	// mine single false
}
