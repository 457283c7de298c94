package campaign

import (
	"path"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/lockstorm/lockstorm/internal/input"
)

// Group names that stand for several others. A group in standardNames selects some of
// what is offered when nothing is chosen.
const (
	allNames      = "all"
	standardNames = "standard"
)

// Choose resolves a user's choice among offered names: exact names, globs as in
// path.Match, and "all". The result is in the order of offered, each name once. The error
// is an input.Error that offers the nearest names. What names their kind, in the singular
// ("lock"); groups are more names to offer, already resolved by the caller.
func Choose(what string, choice, offered []string, groups ...string) ([]string, error) {
	chosen := map[string]bool{}
	asked := false
	for _, c := range choice {
		c = strings.TrimSpace(c)
		if c == "" {
			continue
		}
		asked = true
		found, err := matching(what, c, offered, groups)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			chosen[f] = true
		}
	}
	if !asked {
		return nil, input.Errorf("no %s chosen: expected %s names, globs or \"all\"", what, what)
	}
	var names []string
	for _, o := range offered {
		if chosen[o] {
			names = append(names, o)
		}
	}
	return names, nil
}

// chosen resolves a choice among the values of a registry.
func chosen[T any](what string, choice []string, all []T, name func(T) string, groups ...string) ([]T, error) {
	offered := make([]string, len(all))
	for i, v := range all {
		offered[i] = name(v)
	}
	names, err := Choose(what, choice, offered, groups...)
	if err != nil {
		return nil, err
	}
	var values []T
	for _, v := range all {
		if slices.Contains(names, name(v)) {
			values = append(values, v)
		}
	}
	return values, nil
}

// matching returns the offered names that one element of a choice means.
func matching(what, c string, offered, groups []string) ([]string, error) {
	if c == allNames {
		return offered, nil
	}
	if slices.Contains(offered, c) {
		return []string{c}, nil
	}
	if !strings.ContainsAny(c, `*?[\`) {
		return nil, input.Errorf("unknown %s %q: did you mean %s? (lockstorm list %ss)", what, c, Nearest(c, slices.Concat(offered, groups)), what)
	}
	var found []string
	for _, o := range offered {
		ok, err := path.Match(c, o)
		if err != nil {
			return nil, input.Errorf("%s glob %q: %w", what, c, err)
		}
		if ok {
			found = append(found, o)
		}
	}
	if len(found) == 0 {
		return nil, input.Errorf("%s glob %q matches none of %s", what, c, strings.Join(offered, ", "))
	}
	return found, nil
}

// Nearest names up to three offered names, nearest first by edit distance, among those
// that are about as near as the nearest.
func Nearest(name string, offered []string) string {
	sorted := slices.Clone(offered)
	near := func(o string) float64 { return levenshtein.Match(name, o, nil) }
	slices.SortStableFunc(sorted, func(a, b string) int {
		switch x, y := near(a), near(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	best := sorted[:min(3, len(sorted))]
	for i, o := range best {
		if near(o) < near(best[0])*0.8 {
			best = best[:i]
			break
		}
	}
	return strings.Join(best, " or ")
}
