package reports

import "slices"

// group is the items that have the same key.
type group[K comparable, T any] struct {
	Key   K
	Items []T
}

// groupBy groups items by their keys, in the order of the groups' first items.
func groupBy[K comparable, T any](items []T, key func(T) K) (groups []group[K, T]) {
	for _, x := range items {
		k := key(x)
		i := slices.IndexFunc(groups, func(g group[K, T]) bool { return g.Key == k })
		if i < 0 {
			i, groups = len(groups), append(groups, group[K, T]{Key: k})
		}
		groups[i].Items = append(groups[i].Items, x)
	}
	return groups
}

// texts returns a text of each item.
func texts[T any](items []T, of func(T) string) []string {
	var all []string
	for _, x := range items {
		all = append(all, of(x))
	}
	return all
}
