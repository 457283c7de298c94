package campaign

import (
	"context"
	"sync"
)

// each calls do for every value and its index, in order, parallel at a time, until ctx ends.
func each[T any](ctx context.Context, values []T, parallel int, do func(i int, v T)) {
	queue := make(chan int)
	var workers sync.WaitGroup
	for range min(parallel, len(values)) {
		workers.Go(func() {
			for i := range queue {
				if ctx.Err() == nil {
					do(i, values[i])
				}
			}
		})
	}
	for i := range values {
		select {
		case queue <- i:
		case <-ctx.Done():
		}
	}
	close(queue)
	workers.Wait()
}
