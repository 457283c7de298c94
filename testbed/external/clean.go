package external

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	// In a database of more than scanLimit keys, clean does not look for keys whose names scripts
	// made up.
	scanLimit = 100_000
	// batch is how many keys are removed at a time.
	batch = 100
)

// Clean implements live.Remote. If commands named keys and the database is small, Clean also removes
// the keys whose names scripts made up.
func (s *server) Clean(names []string) error {
	s.conns.Wait()
	if len(names) == 0 {
		return nil
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, s.prefix) })
	// Do not use the trial's context, which may have ended. ask bounds the time by replyTimeout.
	err := s.ask(context.Background(), func(ctx context.Context, c *redis.Client) error {
		if _, err := remove(ctx, c, names); err != nil {
			return err
		}
		size, err := c.DBSize(ctx).Result()
		switch {
		case err != nil && !denied(err):
			return fmt.Errorf("count keys: %w", err)
		case err != nil || size > scanLimit:
			return nil // do not search
		}
		if _, err = removeAll(ctx, c, s.prefix); errors.Is(err, errLook) && denied(err) {
			return nil // the user is not permitted to search
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s may be left with up to %d keys whose names contain %s (remove them with redis-cli --scan --pattern '*%[3]s*'): %w",
			s.addr, len(names), s.prefix, err)
	}
	return nil
}

// denied reports whether the server's access control caused the error.
func denied(err error) bool { return strings.Contains(err.Error(), "NOPERM") }

// errLook marks the errors of SCAN.
var errLook = errors.New("look for keys")

// removeAll removes all keys whose names contain the prefix, and returns their number.
func removeAll(ctx context.Context, c *redis.Client, prefix string) (n int, err error) {
	for all := c.Scan(ctx, 0, "*"+prefix+"*", 10*batch).Iterator(); ; {
		var more []string
		for len(more) < batch && all.Next(ctx) {
			more = append(more, all.Val())
		}
		if err := all.Err(); err != nil {
			return n, fmt.Errorf("%w: %w", errLook, err)
		}
		if len(more) == 0 {
			return n, nil
		}
		removed, err := remove(ctx, c, more) // counts a key once, even if SCAN returns it twice
		n += removed
		if err != nil {
			return n, err
		}
	}
}

// whole matches the complete prefix of a testbed.
var whole = regexp.MustCompile("^" + family + "[0-9a-f]{16}:$")

// Clean removes all keys whose names contain a Testbed's prefix from the servers, and returns their
// number. No trial with that prefix may be running.
func Clean(ctx context.Context, o Options, prefix string) (n int, err error) {
	if !whole.MatchString(prefix) {
		return 0, fmt.Errorf("prefix %q: expected %s and 16 hexadecimal digits", prefix, family)
	}
	targets, err := o.targets()
	if err != nil {
		return 0, err
	}
	for _, t := range targets {
		s := newServer(t, prefix)
		err := s.talk(ctx, func(ctx context.Context, c *redis.Client) error {
			some, err := removeAll(ctx, c, prefix)
			n += some
			return err
		})
		s.conns.Wait()
		if err != nil {
			return n, t.refusal(err)
		}
	}
	return n, nil
}

// remove removes keys with UNLINK, or with DEL if UNLINK is not permitted, and returns how
// many of them existed.
func remove(ctx context.Context, c *redis.Client, names []string) (n int, err error) {
	for some := range slices.Chunk(names, batch) {
		removed, err := c.Unlink(ctx, some...).Result()
		if err != nil && strings.HasPrefix(err.Error(), "NOPERM") {
			removed, err = c.Del(ctx, some...).Result()
		}
		if n += int(removed); err != nil {
			return n, err
		}
	}
	return n, nil
}
