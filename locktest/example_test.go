package locktest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// Tests call Run; other programs call Check, which returns the results. The lock of this example
// works as long as nothing goes wrong. Check tests the lock under the fault delay.
func ExampleCheck() {
	subject := func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
		c.Cleanup(func() { _ = rdb.Close() })
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			token := rand.Text()
			ok, err := rdb.SetNX(ctx, key, token, ttl).Result()
			if err == nil && !ok {
				err = locktest.ErrBusy
			}
			return locktest.Held{
				Token: token,
				Release: func(ctx context.Context) error { // the mistake: the key may be another's
					return rdb.Del(ctx, key).Err()
				},
			}, err
		}, nil
	}
	result, err := locktest.Check(context.Background(), subject, locktest.Options{Faults: []string{"delay"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, fault := range result.Faults {
		fmt.Printf("%s: %s\n", fault.Fault, fault.Violation.Flaws[0].Cause)
	}
	// Output:
	// delay: foreign-delete
}
