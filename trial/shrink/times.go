package shrink

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// units returns the units to which times are rounded, largest first.
func units(ttl time.Duration) []time.Duration {
	all := []time.Duration{ttl / 10, 10 * time.Millisecond, time.Millisecond}
	return slices.DeleteFunc(all, func(u time.Duration) bool { return u <= 0 || u > ttl/10 })
}

// roundness returns the index of the largest unit that divides a time; the number of units if none
// does.
func roundness(d, ttl time.Duration) int {
	all := units(ttl)
	if i := slices.IndexFunc(all, func(u time.Duration) bool { return d%u == 0 }); i >= 0 {
		return i
	}
	return len(all)
}

// simpler says whether d is rounder than the other time, or equally round and closer to 0.
func simpler(d, than, ttl time.Duration) bool {
	a, b := roundness(d, ttl), roundness(than, ttl)
	return a < b || a == b && d.Abs() < than.Abs()
}

// simplerTimes returns simpler replacements for d, the boldest first: 0, then for each unit some
// fractions of d and the multiples of the unit that are closest to d.
func simplerTimes(d, ttl time.Duration) (all []time.Duration) {
	sign := time.Duration(1)
	if d < 0 {
		sign = -1
	}
	d = d.Abs()
	add := func(t time.Duration) {
		if t >= 0 && simpler(t, d, ttl) && !slices.Contains(all, sign*t) {
			all = append(all, sign*t)
		}
	}
	add(0)
	for _, u := range units(ttl) {
		down := d.Truncate(u)
		if u == ttl/10 {
			add(u)
			add((d / 8).Truncate(u))
			add((d / 4).Truncate(u))
		}
		add((d / 2).Truncate(u))
		add((3 * d / 4).Truncate(u))
		add(down - u)
		add(down)
		add(down + u)
	}
	return all
}

// timeEdits returns edits that simplify a time d of a spec, but not below least. The callback at
// returns a pointer to the time in a spec; nil = the spec no longer has it.
func timeEdits(d, least, ttl time.Duration, at func(*trial.Spec) *time.Duration) (edits []edit) {
	for _, t := range simplerTimes(d, ttl) {
		if t >= 0 && t < least {
			continue
		}
		edits = append(edits, func(s *trial.Spec) bool {
			now := at(s)
			if now == nil || !simpler(t, *now, ttl) {
				return false
			}
			*now = t
			return true
		})
	}
	return edits
}

// shorterTrial shortens the time for faults.
func shorterTrial(s trial.Spec) []edit {
	ttl := s.Options.TTL
	return timeEdits(s.Options.Duration, max(ttl/10, 1), ttl, func(s *trial.Spec) *time.Duration { return &s.Options.Duration })
}

// actionTimes rounds and shortens the times of actions.
func actionTimes(s trial.Spec) (edits []edit) {
	for i := range s.Plan {
		for _, field := range []func(*nemesis.Action) *time.Duration{
			func(a *nemesis.Action) *time.Duration { return &a.For },
			func(a *nemesis.Action) *time.Duration { return &a.Linger },
			func(a *nemesis.Action) *time.Duration { return &a.Limit },
			func(a *nemesis.Action) *time.Duration { return &a.Delay },
			func(a *nemesis.Action) *time.Duration { return &a.At },
			func(a *nemesis.Action) *time.Duration { return &a.Offset },
		} {
			edits = append(edits, timeEdits(*field(&s.Plan[i]), 0, s.Options.TTL, func(s *trial.Spec) *time.Duration {
				if i >= len(s.Plan) {
					return nil
				}
				return field(&s.Plan[i])
			})...)
		}
		edits = append(edits, untilOver(i), roundPatience(i, s.Options.TTL))
	}
	return edits
}

// untilOver moves an action's latest start (By) to the end of the disturbed part, or to the action's
// earliest start (At) if that is later. Then By adds no condition that a reader must consider.
func untilOver(i int) edit {
	return func(s *trial.Spec) bool {
		if i >= len(s.Plan) || s.Plan[i].By == max(s.Options.Duration, s.Plan[i].At) {
			return false
		}
		s.Plan[i].By = max(s.Options.Duration, s.Plan[i].At)
		return true
	}
}

// roundPatience rounds up an action's latest start (By), unless untilOver set it.
func roundPatience(i int, ttl time.Duration) edit {
	return func(s *trial.Spec) bool {
		if i >= len(s.Plan) || s.Plan[i].By == max(s.Options.Duration, s.Plan[i].At) {
			return false
		}
		unit := units(ttl)[0]
		return simplify(&s.Plan[i].By, (s.Plan[i].By + unit - 1).Truncate(unit), ttl)
	}
}

// calmerSections changes all sections at once: no rest, mean times, no stops (Section.Late),
// attempts without a time limit. It also makes clients try less often, even in the liveness phase.
func calmerSections(s trial.Spec) (edits []edit) {
	every := func(do func(*workloads.Section) bool) {
		edits = append(edits, func(s *trial.Spec) bool {
			change := false
			for c := range s.Options.Script {
				for n := range s.Options.Script[c] {
					change = do(&s.Options.Script[c][n]) || change
				}
			}
			return change
		})
	}
	o := s.Options
	every(func(x *workloads.Section) bool { return simplify(&x.Rest, 0, o.TTL) })
	every(func(x *workloads.Section) bool { return simplify(&x.Rest, o.Rest, o.TTL) })
	every(func(x *workloads.Section) bool { return simplify(&x.Hold, o.Hold, o.TTL) })
	every(func(x *workloads.Section) bool { return simplify(&x.Late, 0, o.TTL) })
	every(func(x *workloads.Section) bool { return simplify(&x.Patience, 0, o.TTL) })
	edits = append(edits, func(s *trial.Spec) bool { return simplify(&s.Options.Retry, s.Options.TTL/10, s.Options.TTL) })
	for i := range calm(o) {
		every(func(x *workloads.Section) bool { return ask(x, i, o) })
	}
	return edits
}

// simplify sets *d to another time if that is simpler.
func simplify(d *time.Duration, to, ttl time.Duration) bool {
	if !simpler(to, *d, ttl) {
		return false
	}
	*d = to
	return true
}

// calm returns the intervals at which clients may try a busy lock, longest first: few
// attempts are easy to read.
func calm(o workloads.Options) []time.Duration {
	return []time.Duration{o.TTL, o.TTL / 2, o.TTL / 5, o.TTL / 10, o.Retry}
}

// ask sets a section's retry interval to the i-th of calm, unless the interval is already the i-th or
// an earlier one.
func ask(x *workloads.Section, i int, o workloads.Options) bool {
	if at := slices.Index(calm(o), x.Retry); at >= 0 && at <= i {
		return false
	}
	x.Retry = calm(o)[i]
	return true
}

// sectionTimes rounds and shortens the times of each section.
func sectionTimes(s trial.Spec) (edits []edit) {
	o := s.Options
	for c := range o.Script {
		for n, section := range o.Script[c] {
			for _, field := range []func(*workloads.Section) *time.Duration{
				func(x *workloads.Section) *time.Duration { return &x.Hold },
				func(x *workloads.Section) *time.Duration { return &x.Late },
				func(x *workloads.Section) *time.Duration { return &x.Rest },
			} {
				edits = append(edits, timeEdits(*field(&section), 0, o.TTL, func(s *trial.Spec) *time.Duration {
					if c >= len(s.Options.Script) || n >= len(s.Options.Script[c]) {
						return nil
					}
					return field(&s.Options.Script[c][n])
				})...)
			}
			for i := range calm(o) {
				edits = append(edits, onSection(c, n, func(x *workloads.Section) bool { return ask(x, i, o) }))
			}
		}
	}
	return edits
}
