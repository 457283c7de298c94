package locks_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

// A recipe makes locks for one client process. This example uses an in-memory Redis; any go-redis
// client will do.
func Example() {
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	recipe, ok := locks.ByID("set-nx-px")
	if !ok {
		fmt.Println("no such recipe")
		return
	}
	ctx := context.Background()
	connect := func(id string) locks.Lock {
		maker, err := recipe.New(&locks.Client{
			ID:      id,
			Nodes:   []locks.Node{redis.NewClient(&redis.Options{Addr: server.Addr()})},
			Now:     time.Now,
			Rand:    rand.Reader,
			Context: ctx,
		})
		if err != nil {
			panic(err)
		}
		lock, err := maker("jobs", 10*time.Second)
		if err != nil {
			panic(err)
		}
		return lock
	}
	mine, theirs := connect("c0"), connect("c1")

	lease, err := mine.TryLock(ctx)
	fmt.Println("c0 locks:", err)
	_, err = theirs.TryLock(ctx)
	fmt.Println("c1 is refused:", errors.Is(err, locks.ErrBusy))
	fmt.Println("c0 unlocks:", mine.Unlock(ctx, lease))

	// Wait tries again until the lock is free.
	_, err = locks.Wait(ctx, theirs, 10*time.Millisecond)
	fmt.Println("c1 locks:", err)
	// Output:
	// c0 locks: <nil>
	// c1 is refused: true
	// c0 unlocks: <nil>
	// c1 locks: <nil>
}

// A recipe's flaws are data: a caller can ask which flaws a recipe may show, and under which
// faults.
func ExampleRecipe_Declares() {
	recipe, _ := locks.ByID("set-nx-ex")
	flaw, declared := recipe.Declares("ownership", "foreign-delete", "delay")
	fmt.Println(declared, flaw.Kind)
	// Output: true bug
}
