package documents

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
)

// measures are what columns show, by name: a cell of the runs that the row and the column ask for.
var measures = map[string]func([]usage) string{
	"acquisitions": of(func(u usage) any { return len(u.grants) }),
	"overlaps":     of(func(u usage) any { return u.overlaps() }),
	"overlaps of":  of(func(u usage) any { return fmt.Sprintf("%d of %d", u.overlaps(), len(u.grants)) }),
	"removed": of(func(u usage) any {
		if u.recipe.Topology != locks.Single {
			return "–"
		}
		return u.removedAnothers()
	}),
	"renews":           of(func(u usage) any { return wording.YesNo(u.recipe.Claims(u.TTL, 1).Renews) }),
	"rate":             of(func(u usage) any { return tenths(len(u.grants), u.Lasts.Seconds()) }),
	"rate before":      of(func(u usage) any { return u.rate(u.start, u.start+u.After) }),
	"rate after":       of(func(u usage) any { return u.rate(u.start+u.After, u.end) }),
	"gap":              of(func(u usage) any { return milli(u.longestGap(u.start + u.After)) }),
	"commands":         of(func(u usage) any { return fmt.Sprintf("%.0f", tenths(u.ran(), u.Lasts.Seconds())) }),
	"commands of turn": of(func(u usage) any { return fmt.Sprintf("%.0f", float64(u.ran())/float64(max(1, len(u.grants)))) }),
	"attempts":         of(func(u usage) any { return fmt.Sprintf("%.1f", float64(u.attempts)/float64(max(1, len(u.grants)))) }),
	"waits": of(func(u usage) any {
		waits := append(each(u.grants, func(g grant) time.Duration { return g.got - g.asked }), u.inVain...)
		return milli(quantile(waits, 0.5)) + ", " + milli(quantile(waits, 0.95))
	}),
	"per acquisition": of(func(u usage) any {
		if len(u.grants) == 0 {
			return "0; –; –"
		}
		took := each(u.grants, func(g grant) time.Duration { return g.got - g.tried })
		return fmt.Sprintf("%d; %s; %.1f", len(took), milli(quantile(took, 0.5)), float64(u.attempts)/float64(len(took)))
	}),
	"processor": of(func(u usage) any { return fmt.Sprintf("%.0f %%", 100*u.processor) }),
	"scene": of(func(u usage) any {
		if _, answers, ok := strings.Cut(u.D4, u.Lock+" "); ok {
			answer, _, _ := strings.Cut(answers, ",")
			return u.scene + " (" + answer + ")"
		}
		return u.scene
	}),
	"beside hung": besideHung,
	"runs":        func(all []usage) string { return fmt.Sprint(len(all)) },
	"contested":   takeovers(func(t takeover) bool { return len(t.moved) > 0 || t.ownerless }),
	"cleared":     takeovers(func(t takeover) bool { return t.cleared }),
	"ownerless":   takeovers(func(t takeover) bool { return t.ownerless }),
	"two winners": takeovers(func(t takeover) bool { return t.winners > 1 }),
	"moved": func(all []usage) string {
		moved := slices.Concat(each(all, func(u usage) []time.Duration { return u.takeover().moved })...)
		return milli(quantile(moved, 0.5)) + ", " + milli(quantile(moved, 1))
	},
	"shut": func(all []usage) string {
		return milli(slices.Max(each(all, func(u usage) time.Duration { return u.takeover().shut })))
	},
}

// of returns a measure of a single run.
func of(measure func(usage) any) func([]usage) string {
	return func(all []usage) string { return fmt.Sprint(measure(all[0])) }
}

// takeovers returns a measure that counts the takeovers that are so.
func takeovers(is func(takeover) bool) func([]usage) string {
	return func(all []usage) (text string) {
		n := 0
		for _, u := range all {
			n += count(is(u.takeover()))
		}
		return fmt.Sprint(n)
	}
}

// besideHung says when another client acquired the lock of hung client 0, over all runs: for example
// "never" or "after 1.0 to 2.0 s in 12 runs of 20".
func besideHung(all []usage) string {
	var after []float64
	for _, u := range all {
		hung := slices.IndexFunc(u.grants, func(g grant) bool { return g.client == 0 })
		for _, other := range u.grants[max(0, hung):] {
			if hung >= 0 && other.client != 0 && other.got > u.grants[hung].got {
				after = append(after, (other.got - u.grants[hung].got).Seconds())
				break
			}
		}
	}
	if len(after) == 0 {
		return "never"
	}
	least, most := slices.Min(after), slices.Max(after)
	text := fmt.Sprintf("after %.1f s", most)
	if most-least >= 0.1 {
		text = fmt.Sprintf("after %.1f to %.1f s", least, most)
	}
	if len(after) < len(all) {
		text += fmt.Sprintf(" in %d runs of %d", len(after), len(all))
	}
	return text
}

// overlaps counts the grants that came while another client was still in its critical section.
func (u usage) overlaps() (n int) {
	for i, g := range u.grants {
		n += count(slices.ContainsFunc(u.grants[:i], func(f grant) bool { return f.left > g.got }))
	}
	return n
}

// rate returns the grants a second at from or later, but before to.
func (u usage) rate(from, to time.Duration) float64 {
	n := 0
	for _, g := range u.grants {
		n += count(g.got >= from && g.got < to)
	}
	return tenths(n, (to - from).Seconds())
}

// longestGap returns the longest time without a grant, from the given instant to the end.
func (u usage) longestGap(from time.Duration) (gap time.Duration) {
	last := from
	for _, g := range u.grants {
		if g.got > from {
			gap, last = max(gap, g.got-last), g.got
		}
	}
	return max(gap, u.end-last)
}

// ran counts the commands that a node executed and that were sent while the clients used the lock.
func (u usage) ran() (n int) {
	for _, c := range u.commands {
		n += count(c.N > 0 && c.Exec > 0 && c.Sent >= u.start && c.Sent < u.end)
	}
	return n
}

// removedAnothers counts the releases that deleted the key after another client had acquired the lock.
func (u usage) removedAnothers() (n int) {
	deleted := map[int]bool{}
	for _, k := range u.keys {
		if k.After == nil {
			deleted[k.Exec] = k.By == history.ByCommand
		}
	}
	for _, c := range u.commands {
		// The client of the last grant before the release was sent counts as the key's owner.
		owner := -1
		for _, g := range u.grants {
			if g.got <= c.Sent {
				owner = g.client
			}
		}
		n += count(c.Exec != 0 && deleted[c.Exec] && owner != c.Client)
	}
	return n
}

func each[A, B any](all []A, do func(A) B) (done []B) {
	for _, a := range all {
		done = append(done, do(a))
	}
	return done
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// quantile returns the q-quantile of the values; 0 if there are none.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// tenths returns n/of, rounded to tenths.
func tenths(n int, of float64) float64 { return float64(int(10*float64(n)/of+0.5)) / 10 }

// milli writes a duration in milliseconds, or in seconds if it is at least one second.
func milli(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000)
}
