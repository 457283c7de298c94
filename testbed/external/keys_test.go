package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
)

// TestOnlyTheTrialsKeysAreWatched checks that changes of the trial's keys are recorded with
// their commands, and that no other key is read.
func TestOnlyTheTrialsKeysAreWatched(t *testing.T) {
	s := redistest.Test(t)
	theirs := admin(t, &redis.Options{Addr: s.Addr()})
	same := foreign(t, theirs)
	tb, err := New(t.Context(), Options{Addrs: []string{s.Addr()}, Own: true})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	setup := testbed.Setup{
		Keys: func(c history.KeyChange) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%s %s: %t → %t", string(c.Key)[len(tb.Prefix())+2:], c.By, c.Before != nil, c.After != nil))
		},
		Unseen: func(node string, err error) { t.Errorf("%s is unseen: %v", node, err) },
	}
	err = runOn(t.Context(), tb, setup, func(ctx context.Context, e testbed.Env) error {
		c := first(e)
		script := redis.NewScript(`return redis.call("hset", KEYS[1], "f", ARGV[1])`)
		err := errors.Join(
			c.Set(ctx, named(e, "lock-0"), "mine", time.Hour).Err(),
			script.Run(ctx, c, []string{named(e, "hash")}, "v").Err(),
			c.Set(ctx, named(e, "short"), "v", 20*time.Millisecond).Err(),
		)
		time.Sleep(100 * time.Millisecond)
		return errors.Join(err,
			theirs.Del(ctx, tb.Prefix()+"1:lock-0").Err(),
			c.Get(ctx, named(e, "hash")).Err(), // WRONGTYPE
			c.SetNX(ctx, named(e, "lock-0"), "again", 0).Err(),
		)
	})
	if err != nil && !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Fatal(err)
	}
	want := []string{
		"lock-0 command: false → true", "hash command: false → true", "short command: false → true", "short expiry: true → false",
	}
	want = append(want, "lock-0 stranger: true → false", "lock-0 command: false → true")
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := same(); err != nil {
		t.Error(err)
	}
}

// TestWhatIsNotGrantedIsSaid checks that the error names the command that the user may not run.
func TestWhatIsNotGrantedIsSaid(t *testing.T) {
	s := redistest.Test(t)
	theirs := admin(t, &redis.Options{Addr: s.Addr()})
	if err := theirs.Do(t.Context(), "ACL", "SETUSER", "poor", "on", ">secret", "~lockstorm:*", "+@all", "-getrange").Err(); err != nil {
		t.Fatal(err)
	}
	var unseen error
	setup := testbed.Setup{Keys: func(history.KeyChange) {}, Unseen: func(_ string, err error) { unseen = err }}
	err := run(t, Options{Addrs: []string{s.Addr()}, User: "poor", Password: "secret", Own: true}, setup, func(ctx context.Context, e testbed.Env) error {
		return first(e).Set(ctx, named(e, "k"), "v", 0).Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if unseen == nil || !strings.HasPrefix(unseen.Error(), "GETRANGE: ") || strings.Contains(unseen.Error(), "\n") {
		t.Errorf("got %v, want one line that names GETRANGE", unseen)
	}
}
