package campaign

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
)

// Names of groups in a choice: every offered name (but see Recipes), the default workloads, and the
// recipes that wrap libraries.
const (
	allNames      = "all"
	standardNames = "standard"
	libraryNames  = "libraries"
)

// Recipes resolves a choice of recipes, in the order of the registry. "all" selects the recipes
// that wrap no library, "libraries" the recipes that wrap one. A glob matches both kinds. The error
// is an input.Error; for an unknown name, it suggests the nearest names.
func Recipes(choice []string) ([]locks.Recipe, error) {
	return chosen("lock", choice, locks.All(), func(r locks.Recipe) string { return r.ID },
		group[locks.Recipe]{allNames, func(r locks.Recipe) bool { return r.Library == "" }},
		group[locks.Recipe]{libraryNames, func(r locks.Recipe) bool { return r.Library != "" }})
}

// Choose resolves a user's choice among offered names: exact names, globs as in path.Match, and
// "all". The result is in the order of offered, each name once. The parameter what is the kind of
// name in the singular ("lock"). The error is an input.Error; for an unknown name, it suggests the
// nearest names and groups. The groups serve only for these suggestions: the caller has already
// replaced groups in choice by their names.
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

// group is a name in a choice that stands for some of the offered values.
type group[T any] struct {
	name string
	has  func(T) bool
}

// chosen returns the values in all, such as faults, whose names a user's choice selects. The
// parameter what names the kind of value in error texts, such as "fault". See Choose.
func chosen[T any](what string, choice []string, all []T, name func(T) string, groups ...group[T]) ([]T, error) {
	namesOf := func(values []T) (names []string) {
		for _, v := range values {
			names = append(names, name(v))
		}
		return names
	}
	var names, titles []string
	for _, g := range groups {
		titles = append(titles, g.name)
	}
	for _, c := range choice {
		if i := slices.Index(titles, strings.TrimSpace(c)); i >= 0 {
			names = append(names, namesOf(slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !groups[i].has(v) }))...)
		} else {
			names = append(names, c)
		}
	}
	names, err := Choose(what, names, namesOf(all), titles...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !slices.Contains(names, name(v)) }), nil
}

// matching returns the offered names that one element of a choice selects.
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

// Nearest returns up to three offered names, joined by "or", most similar first: by edit distance, then by
// length.
// It leaves out names that are much less similar than the first.
func Nearest(name string, offered []string) string {
	sorted := slices.Clone(offered)
	near := func(o string) float64 { return levenshtein.Match(name, o, nil) }
	unlike := func(o string) int { return max(len(o)-len(name), len(name)-len(o)) }
	slices.SortStableFunc(sorted, func(a, b string) int {
		return cmp.Or(-cmp.Compare(near(a), near(b)), cmp.Compare(unlike(a), unlike(b)))
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
