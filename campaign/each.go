package campaign

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// each calls do for every value and its index, in order, parallel at a time, until ctx ends.
func each[T any](ctx context.Context, values []T, parallel int, do func(i int, v T)) {
	var workers errgroup.Group
	workers.SetLimit(max(1, parallel))
	for i, v := range values {
		workers.Go(func() error {
			if ctx.Err() == nil {
				do(i, v)
			}
			return nil
		})
	}
	_ = workers.Wait() // do reports its errors
}
