package documents

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
)

// figures are the figures of runs, by the names that templates use; experiments.yaml describes them. A
// series has a duration for each event in any of the runs. Other figures are those of the first run.
type figures map[string]any

type series = []time.Duration

// add adds the figures of other runs.
func (f figures) add(other figures) {
	for name, value := range other {
		had, ok := f[name]
		if more, is := value.(series); ok && is {
			f[name] = slices.Concat(had.(series), more)
		} else if !ok {
			f[name] = value
		}
	}
}

// render fills in a template. Its functions write quantile q of a series, or the least and the greatest
// duration, or by how many per cent a median is below another.
func (f figures) render(text string, more template.FuncMap) (string, error) {
	functions := template.FuncMap{
		"ms": func(s series, q float64) string { return milli(quantile(s, q)) },
		"span": func(s series) string {
			least, most := quantile(s, 0).Seconds(), quantile(s, 1).Seconds()
			if most-least < 0.1 {
				return fmt.Sprintf("%.1f s", most)
			}
			return fmt.Sprintf("%.1f to %.1f s", least, most)
		},
		"less": func(s, than series) string {
			return fmt.Sprintf("%.0f", 100*(1-quantile(s, 0.5).Seconds()/quantile(than, 0.5).Seconds()))
		},
	}
	maps.Copy(functions, more)
	var b strings.Builder
	t, err := template.New(text).Option("missingkey=error").Funcs(functions).Parse(text)
	if err == nil {
		err = t.Execute(&b, f)
	}
	return b.String(), err
}

// figures measures the run.
func (u *run) figures() figures {
	rate := func(n int, of float64) float64 { return float64(int(10*float64(n)/of+0.5)) / 10 }
	each := func(n int) float64 { return float64(n) / float64(max(1, len(u.grants))) }
	var grants, waits, took, overlaps, beside series
	var before, after, executed int
	struck := u.start + u.After
	last, gap, hung := struck, time.Duration(0), time.Duration(-1)
	for i, g := range u.grants {
		grants, waits, took = append(grants, g.got), append(waits, g.got-g.asked), append(took, g.got-g.tried)
		if slices.ContainsFunc(u.grants[:i], func(f grant) bool { return f.left > g.got }) {
			overlaps = append(overlaps, g.got)
		}
		switch {
		case g.client == 0 && hung < 0:
			hung = g.got
		case g.client != 0 && hung >= 0 && g.got > hung && beside == nil:
			beside = series{g.got - hung}
		}
		switch {
		case g.got < struck:
			before++
		case g.got < u.end:
			after++
		}
		if g.got > last {
			gap, last = max(gap, g.got-last), g.got
		}
	}
	for _, c := range u.commands {
		if c.N > 0 && c.Exec > 0 && c.Sent >= u.start && c.Sent < u.end {
			executed++
		}
	}
	_, answer, _ := strings.Cut(u.D4, u.Lock+" ")
	answer, _, _ = strings.Cut(answer, ",")
	f := figures{
		"runs": series{0}, "grants": grants, "waits": append(waits, u.inVain...), "took": took, "overlaps": overlaps, "beside": beside,
		"removed": u.removed(), "rate": rate(len(grants), u.Lasts.Seconds()), "before": rate(before, u.After.Seconds()),
		"after": rate(after, (u.Lasts - u.After).Seconds()), "gap": series{max(gap, u.end-last)},
		"commands": rate(executed, u.Lasts.Seconds()), "commandsEach": each(executed), "attemptsEach": each(u.attempts),
		"processor": 100 * u.processor, "renews": wording.YesNo(u.recipe.Claims(u.TTL, 1).Renews),
		"oneNode": u.recipe.Topology == locks.Single, "scene": u.scene, "d4": answer,
	}
	u.takeover(f)
	return f
}

// removed returns when releases were sent that deleted the key after another client had acquired the lock.
func (u *run) removed() (removed series) {
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
		if c.Exec != 0 && deleted[c.Exec] && owner != c.Client {
			removed = append(removed, c.Sent)
		}
	}
	return removed
}

// takeover adds what rivals' GETSETs did to a dead client's key, as D1 has it: a loser's GETSET overwrites
// the time that the winner set.
func (u *run) takeover(f figures) {
	ran := slices.DeleteFunc(slices.Clone(u.commands), func(c history.Command) bool { return c.N == 0 || c.Exec == 0 })
	slices.SortFunc(ran, func(a, b history.Command) int { return cmp.Compare(a.Exec, b.Exec) })
	is := func(c history.Command, name string) bool { return strings.EqualFold(string(c.Args[0]), name) }
	// A client that wins, or gets the lock otherwise, sends EXPIRE.
	expire := func(c history.Command) bool { return is(c, "EXPIRE") }
	// winner is the time that the latest winner set. before is the dead client's time, which the
	// first winner replaced.
	winner, before := "", ""
	var moved, cleared, ownerless, winners series
	for i, c := range ran {
		later := ran[i+1:]
		next := slices.IndexFunc(later, func(d history.Command) bool { return d.Client == c.Client })
		switch {
		case !is(c, "GETSET"):
		case next >= 0 && expire(later[next]):
			if winner == "" || string(c.Reply) == before {
				winners = append(winners, c.Sent)
				before = string(c.Reply)
			}
			winner = string(c.Args[2])
		case c.Reply == "nil": // the winner had left: now the key has no owner and no TTL, until somebody gets in
			end := ran[len(ran)-1]
			if open := slices.IndexFunc(later, expire); open >= 0 {
				end = later[open]
			}
			ownerless = append(ownerless, end.Arrived-c.Arrived)
		default:
			moved = append(moved, (storedTime(string(c.Args[2])) - storedTime(winner)).Abs())
			// There is no such change if GETSET changed nothing: same time, and already no TTL.
			if slices.ContainsFunc(u.keys, func(k history.KeyChange) bool {
				return k.Exec == c.Exec && k.By == history.ByCommand && k.Before != nil && k.Before.Expires > 0
			}) {
				cleared = append(cleared, c.Sent)
			}
		}
	}
	f["moved"], f["shut"] = moved, ownerless
	// A run counts once, however often it shows these.
	f["contested"], f["cleared"], f["ownerless"] = slices.Concat(moved, ownerless), cleared, ownerless
	f["twoWinners"] = winners[min(1, len(winners)):]
	for _, name := range []string{"contested", "cleared", "ownerless", "twoWinners"} {
		if once := f[name].(series); len(once) > 1 {
			f[name] = once[:1]
		}
	}
}

// storedTime decodes a time that D1 stores in milliseconds, as 8 bytes, the most significant first.
func storedTime(value string) time.Duration {
	if len(value) != 8 {
		return 0
	}
	return time.Duration(binary.BigEndian.Uint64([]byte(value))) * time.Millisecond
}

// quantile returns the q-quantile of the values; 0 if there are none.
func quantile(values series, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[int(q*float64(len(values)-1)+0.5)]
}

// milli writes a duration in milliseconds, or in seconds if it is at least one second.
func milli(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000)
}
