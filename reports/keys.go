package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// keyBeats tells what became of the keys of the clients concerned. What several
// nodes did alike is told once.
func keyBeats(e history.Evidence, f focus) []beat {
	events, spans := keyLife(e)
	type group struct {
		text  string
		nodes []string
		at    time.Duration
	}
	var groups []*group
	byText := map[string]*group{}
	for _, x := range events {
		if x.foreign() && f.Finding.Oracle == "ownership" && (x.At-f.Finding.From).Abs() < 5*time.Millisecond {
			continue // that is the finding itself
		}
		if x.At < f.Start || x.At > f.Finding.To || !slices.Contains(f.Cast, x.Owner) && !slices.Contains(f.Cast, x.Client) {
			continue
		}
		text := keyWords(x, e)
		if text == "" {
			continue
		}
		g := byText[text]
		if g == nil || slices.Contains(g.nodes, x.Node) {
			g = &group{text: text}
			groups, byText[text] = append(groups, g), g
		}
		g.nodes, g.at = append(g.nodes, x.Node), x.At
	}
	out := leftBeats(spans, f)
	for _, g := range groups {
		slices.Sort(g.nodes)
		by := " at "
		if len(g.nodes) > 1 {
			by = " by "
		}
		out = append(out, beat{At: g.at, Text: fmt.Sprintf("%s on %s%s%s", g.text, list(g.nodes), by, instant(g.at)), Weight: part})
	}
	return out
}

// leftBeats tells which keys of the clients concerned kept others out.
func leftBeats(spans []keySpan, f focus) []beat {
	if f.Finding.Oracle != "liveness" {
		return nil
	}
	var out []beat
	for _, s := range spans {
		if !slices.Contains(f.Finding.Clients, s.Owner) || s.From > f.Finding.From || s.To < f.Finding.From {
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
		what = cmp.Or(scriptName(c, e.Claims.Scripts), strings.ToUpper(string(c.Args[0])))
	}
	switch {
	case x.Kind == keyExpired:
		return fmt.Sprintf("c%d's key expired", x.Owner)
	case x.Kind == keyLost:
		return fmt.Sprintf("c%d's key was lost", x.Owner)
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
