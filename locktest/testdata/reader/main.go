// Command reader fails unless locktest.Check restores crypto/rand.Reader. A test cannot check this,
// because in test binaries Check replaces the Reader in another way.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockstorm/lockstorm/locktest"
)

// service stands for a Reader that a program installs before it calls Check.
type service struct{ io.Reader }

// checks are the calls of Check that main tries. The key says how the call ends. Each Acquire of the
// lock under test calls begun.
var checks = map[string]func(begun func()) error{
	"it returns": func(begun func()) error {
		return check(context.Background(), begun)
	},
	"its context is cancelled": func(begun func()) error {
		ctx, cancel := context.WithCancel(context.Background())
		running := make(chan struct{})
		go func() {
			<-running
			cancel()
		}()
		once := sync.OnceFunc(func() { close(running) })
		err := check(ctx, func() {
			begun()
			once()
			<-ctx.Done()
		})
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the error is %v, want that of the context", err)
		}
		return nil
	},
	"Acquire panics": func(begun func()) error {
		return check(context.Background(), func() {
			begun()
			panic("the lock has no lease")
		})
	},
}

// check calls Check for a lock of SET NX PX and DEL.
func check(ctx context.Context, begun func()) error {
	subject := func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{
			Addr: c.Addrs[0], Dialer: c.Dial,
			// In the other modes, Close waits during a handshake for a mutex. A bubble's clock
			// stands still meanwhile, so a Check that is cancelled during a handshake would return
			// only when it gives the trial up, after some seconds.
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		c.Cleanup(func() { _ = rdb.Close() })
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			begun()
			ok, err := rdb.SetNX(ctx, key, rand.Text(), ttl).Result()
			if err == nil && !ok {
				err = locktest.ErrBusy
			}
			return locktest.Held{Release: func(ctx context.Context) error { return rdb.Del(ctx, key).Err() }}, err
		}, nil
	}
	_, err := locktest.Check(ctx, subject, locktest.Options{Faults: []string{"none"}, Trials: -1})
	return err
}

func main() {
	code := 0
	for name, run := range checks {
		own := &service{rand.Reader}
		rand.Reader = own
		replaced := false
		err := run(func() { replaced = rand.Reader != io.Reader(own) })
		switch {
		case err != nil:
		case !replaced:
			err = errors.New("during Check the Reader is the one from before")
		case rand.Reader != io.Reader(own):
			err = fmt.Errorf("after Check the Reader is a %T, want the one from before", rand.Reader)
		}
		if err != nil {
			fmt.Printf("%s: %v\n", name, err)
			code = 1
		}
		rand.Reader = own.Reader
	}
	os.Exit(code)
}
