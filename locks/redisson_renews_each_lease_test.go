package locks

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestRedissonRenewsAtAThirdOfItsLeaseAndAsD3SaysAtTheWhole(t *testing.T) {
	for recipe, want := range map[string][]time.Duration{
		"redisson": {10 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second},
		// The key is gone: the first renewal finds no entry and is the last one.
		"redisson-renews-each-lease": {30 * time.Second},
	} {
		t.Run(recipe, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newVirtualNode()
				acquire(t, newLock(t, recipe, virtualClient(t, n), 30*time.Second))
				time.Sleep(45 * time.Second)
				if got := n.times("redisson-renew", "k"); !slices.Equal(got, want) {
					t.Errorf("a lease of 30 s is renewed at %v, want %v", got, want)
				}
			})
		})
	}
}
