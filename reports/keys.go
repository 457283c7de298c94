package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// keyBeats tells what became of the keys of the clients concerned. What several
// nodes did alike is told once.
func keyBeats(e history.Evidence, f focus) []beat {
	var order []string
	told := map[string]*repeated{}
	for _, x := range f.events {
		if x.foreign() && f.Finding.Oracle == "ownership" && (x.At-f.Finding.From).Abs() < 5*time.Millisecond {
			continue // that is the finding itself
		}
		if x.At < f.Start || x.At > f.Finding.To || !slices.Contains(f.keys, keyName{x.Node, x.Key}) ||
			!slices.Contains(f.Cast, x.Owner) && !slices.Contains(f.Cast, x.Client) {
			continue
		}
		text := keyWords(x, e)
		if text == "" {
			continue
		}
		if told[text] == nil {
			order, told[text] = append(order, text), &repeated{first: x.At, most: map[string]int{}}
		}
		told[text].add(x)
	}
	out := leftBeats(f)
	for _, text := range order {
		r := told[text]
		out = append(out, beat{At: r.first, Text: text + r.words(), Weight: part})
	}
	return out
}

// repeated is what happened alike on several nodes, or several times.
type repeated struct {
	first, last time.Duration
	most        map[string]int // how often on each node
}

func (r *repeated) add(x keyEvent) {
	r.last = x.At
	r.most[x.Node]++
}

// words say where and when: " on n0 and n1 by 1.2 s".
func (r *repeated) words() string {
	nodes := slices.Sorted(maps.Keys(r.most))
	times := 0
	for _, n := range r.most {
		times = max(times, n)
	}
	switch {
	case times > 1:
		return fmt.Sprintf(" on %s, %d times from %s to %s", list(nodes), times, instant(r.first), instant(r.last))
	case len(nodes) > 1:
		return fmt.Sprintf(" on %s by %s", list(nodes), instant(r.last))
	}
	return fmt.Sprintf(" on %s at %s", list(nodes), instant(r.first))
}

// lasts says whether a key lived for most of a blockage.
func (s keySpan) lasts(x found) bool {
	return s.From <= x.From && s.To >= x.From+(x.To-x.From)/2
}

// leftBeats tells which keys of the clients concerned kept others out.
func leftBeats(f focus) []beat {
	if f.Finding.Oracle != "liveness" {
		return nil
	}
	var out []beat
	for _, s := range f.spans {
		if !slices.Contains(f.Cast, s.Owner) || !s.lasts(f.Finding) {
			continue
		}
		text := fmt.Sprintf("c%d's key was set on %s at %s", s.Owner, s.Node, instant(s.From))
		if s.Forever {
			text += ", without an expiry"
		}
		out = append(out, beat{At: s.From, Text: text, Weight: part})
	}
	return out
}

// keyWords tells an event of a key without its place and time; "" for what
// needs no telling: that clients took and gave back their own.
func keyWords(x keyEvent, e history.Evidence) string {
	what := "command"
	if c, ok := commandAt(e.Commands, x.Command); ok && len(c.Args) > 0 {
		what = strings.ToUpper(string(c.Args[0]))
		if name := scriptName(c, e.Claims.Scripts); name != "" {
			what = "script " + name
		}
	}
	switch {
	case x.Kind == keyExpired:
		return fmt.Sprintf("c%d's key expired", x.Owner)
	case x.Kind == keyEvicted:
		return fmt.Sprintf("c%d's key was evicted", x.Owner)
	case x.Kind == keyLost:
		return fmt.Sprintf("c%d's key was lost", x.Owner)
	case x.Kind == keyGone:
		return fmt.Sprintf("c%d's key was gone", x.Owner)
	case !x.foreign():
		return ""
	case x.Kind == keyDeleted:
		return fmt.Sprintf("c%d's %s removed c%d's key", x.Client, what, x.Owner)
	case x.Kind == keyRenewed:
		return fmt.Sprintf("c%d's %s prolonged c%d's key", x.Client, what, x.Owner)
	case x.Kind == keySet:
		return fmt.Sprintf("c%d's %s overwrote c%d's key", x.Client, what, x.Owner)
	}
	return ""
}

// list joins names as people do: "n0, n1 and n2".
func list(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}
