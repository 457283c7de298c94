package keyspace

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A trail that shares its entries reads as if it had its own copies.
func TestTrailsReadAsIfNothingWereShared(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shared := []*sequel[int]{{shared: true}, {shared: true, at: map[int][]int{}}}
		type both struct {
			trail[int]
			plain   []int
			follows *sequel[int]
		}
		all := []*both{{}}
		any := func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, name) }
		for range any("steps", 40) {
			x, value := all[any("which", len(all))], any("value", 4)
			switch any("what", 6) {
			case 0:
				x.add(value)
				x.plain = append(x.plain, value)
			case 1:
				x.leave()
				x.follows = shared[any("sequel", len(shared))]
				x.follow(x.follows)
			case 2:
				s := shared[any("sequel", len(shared))]
				s.add(value)
				for _, y := range all {
					if y.follows == s {
						y.plain = append(y.plain, value)
					}
				}
			case 3:
				x.leave()
				x.follows = nil
			case 4:
				n := any("first", len(x.plain)+1)
				all = append(all, &both{trail: x.first(n), plain: slices.Clone(x.plain[:n])})
			default:
				if n := len(x.plain); n > 0 {
					x.amend(func(v *int) { *v += 10 })
					x.plain[n-1] += 10
				}
			}
			for i, y := range all {
				var got []int
				for j := range y.len() {
					got = append(got, *y.get(j))
				}
				if !slices.Equal(got, y.plain) {
					rt.Fatalf("trail %d: got %v, want %v", i, got, y.plain)
				}
				for v := range 4 {
					if has, want := y.has(v), slices.Contains(y.plain, v); has != want {
						rt.Fatalf("trail %d of %v has %d: got %v", i, y.plain, v, has)
					}
				}
			}
		}
	})
}
