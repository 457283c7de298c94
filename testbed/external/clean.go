package external

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	// scanLimit is how many keys a database may have for all of them to be looked
	// through after a trial, for keys that scripts made up.
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
		if err := remove(ctx, c, names); err != nil {
			return err
		}
		size, err := c.DBSize(ctx).Result()
		if err != nil || size > scanLimit {
			return nil // nobody is asked for more than for the names
		}
		for all := c.Scan(ctx, 0, "", 10*batch).Iterator(); ; {
			var more []string
			for len(more) < batch && all.Next(ctx) {
				more = append(more, all.Val())
			}
			if err := all.Err(); err != nil && !strings.HasPrefix(err.Error(), "NOPERM") {
				return err
			}
			if len(more) == 0 {
				return nil
			}
			if err := remove(ctx, c, more); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return fmt.Errorf("%s may be left with up to %d keys that begin with %s (remove them with redis-cli --scan --pattern '%[3]s*'): %w",
			s.addr, len(names), s.guard.prefix, err)
	}
	return nil
}

// remove removes keys by UNLINK, or DEL where that is not allowed.
func remove(ctx context.Context, c *redis.Client, names []string) error {
	for some := range slices.Chunk(names, batch) {
		err := c.Unlink(ctx, some...).Err()
		if err != nil && strings.HasPrefix(err.Error(), "NOPERM") {
			err = c.Del(ctx, some...).Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
