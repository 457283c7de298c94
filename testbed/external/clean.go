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
	// scanLimit is the largest database, in keys, that is searched after a trial for keys
	// that scripts made up.
	scanLimit = 100_000
	// batch is how many keys are removed, or looked through, at a time.
	batch = 100
)

// clean removes the trial's keys: those that its commands named, and on a server
// with few keys those that scripts made of their names.
func (s *server) clean() error {
	names := s.guard.named()
	if len(names) == 0 {
		return nil
	}
	// The trial may have been interrupted: patience bounds this instead.
	err := s.ask(context.Background(), func(ctx context.Context, c *redis.Client) error {
		if _, err := remove(ctx, c, names); err != nil {
			return err
		}
		size, err := c.DBSize(ctx).Result()
		switch {
		case err != nil && !denied(err):
			return fmt.Errorf("count keys: %w", err)
		case err != nil || size > scanLimit:
			return nil // only the names are removed then
		}
		if _, err = removeAll(ctx, c); errors.Is(err, errLook) && denied(err) {
			return nil // the user may not search
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s may be left with up to %d keys that begin with %s (remove them with redis-cli --scan --pattern '%[3]s*'): %w",
			s.addr, len(names), s.guard.prefix, err)
	}
	return nil
}

// denied says whether an error is that the server's access control does not allow it.
func denied(err error) bool { return strings.Contains(err.Error(), "NOPERM") }

// errLook is in the error if keys cannot be looked through.
var errLook = errors.New("look for keys")

// removeAll removes all keys with the prefix, which are all that the guard shows, and says
// how many there were.
func removeAll(ctx context.Context, c *redis.Client) (n int, err error) {
	for all := c.Scan(ctx, 0, "", 10*batch).Iterator(); ; {
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
		removed, err := remove(ctx, c, more) // SCAN may return a key twice
		n += removed
		if err != nil {
			return n, err
		}
	}
}

// whole matches a testbed's prefix.
var whole = regexp.MustCompile("^" + family + "[0-9a-f]{16}:$")

// Clean removes from the servers all keys that begin with a prefix, a Testbed's, and
// says how many there were. Nobody may run trials with that prefix.
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
			some, err := removeAll(ctx, c)
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

// remove removes keys by UNLINK, or DEL where that is not allowed, and says how many of
// them were there.
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
