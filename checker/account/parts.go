package account

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// The functions below return the parts of accounts that sentences name. A missing part becomes a
// placeholder text, so that a damaged store yields a poor sentence and no panic.

func (a Account) client(i int) string {
	if i >= len(a.Clients) {
		return "nobody"
	}
	return history.ClientName(a.Clients[i])
}

// nth returns the element of that index; the zero value if it is missing.
func nth[T any](all []T, i int) (x T) {
	if i < len(all) {
		x = all[i]
	}
	return x
}

// nthWords returns the element of that index as a text; none if it is missing.
func nthWords[T any](all []T, i int, none string) string {
	if i >= len(all) {
		return none
	}
	return fmt.Sprint(all[i])
}

func (f Fact) node(i int) string   { return nthWords(f.Nodes, i, "the old primary") }
func (f Fact) value(i int) string  { return nthWords(f.Values, i, "none") }
func (f Fact) number(i int) string { return nthWords(f.Clients, i, "none") }

// where names the node or, if there are several, says how many.
func (f Fact) where() string {
	if f.Count > 1 {
		return fmt.Sprintf("%d nodes", f.Count)
	}
	return f.node(0)
}

func (f Fact) call() Call {
	if f.Command == nil {
		return Call{Client: history.NoClient}
	}
	return *f.Command
}

// struck names the target of a fault: a link, a node or clients.
func (f Fact) struck() string {
	switch {
	case f.Link != nil:
		return f.Link.String()
	case len(f.Nodes) > 0:
		return f.Nodes[0]
	}
	return names(f.Clients)
}

func (a Account) hold(i int) Believed       { return nth(a.Holds, i) }
func (a Account) operation(i int) Operation { return nth(a.Operations, i) }

// words returns the name of a command: "DEL", or "script" with the script's name.
func (c Call) words() string {
	switch {
	case c.Script && c.Name == "":
		return "script"
	case c.Script:
		return "script " + c.Name
	case c.Name == "":
		return "command"
	}
	return c.Name
}

// names lists the names of clients, each once.
func names(clients []int) string {
	all := slices.Clone(clients)
	slices.Sort(all)
	var said []string
	for _, c := range slices.Compact(all) {
		said = append(said, history.ClientName(c))
	}
	return strings.Join(said, ", ")
}

// after returns joint and text, or "" if text is empty.
func after(joint, text string) string {
	if text == "" {
		return ""
	}
	return joint + text
}

// signed formats the offset of a clock that was ahead or behind.
func (s Style) signed(by time.Duration, ahead, behind string) string {
	if by < 0 {
		return fmt.Sprintf(behind, s.Length(-by))
	}
	return fmt.Sprintf(ahead, s.Length(by))
}

func became(h Believed) string {
	if h.Extended {
		return "was told of an extension of"
	}
	return "was granted"
}

func inMode(m history.Mode) string {
	switch m {
	case history.Read:
		return " for reading"
	case history.Write:
		return " for writing"
	}
	return ""
}

// held states when a client's belief in a hold began and how it ended.
func (s Style) held(h Believed) string {
	until := s.Instant(h.Until)
	return "since " + s.Instant(h.From) + ", " + map[string]string{
		ByRelease:  "until its release at " + until,
		ByDeadline: "until its claimed deadline, which its clock showed at " + until,
		ByLost:     "until it learnt of the loss at " + until,
		ByCrash:    "until it crashed at " + until,
		ByNothing:  "and never gave it back",
	}[h.Why]
}

func (s Style) crowd(holds []Believed) string {
	var said []string
	for _, h := range holds {
		said = append(said, fmt.Sprintf("%s (%s)", history.ClientName(h.Client), s.held(h)))
	}
	return strings.Join(said, ", ")
}

// mostWords is the greatest number of operations that a sentence lists.
const mostWords = 8

func (s Style) operations(all []Operation) string {
	var said []string
	for _, o := range all {
		said = append(said, s.operation(o))
	}
	if more := len(said) - mostWords; more > 0 {
		said = append(said[:mostWords], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, ", ")
}

func (s Style) operation(o Operation) string {
	text := history.ClientName(o.Client) + "'s " + o.F + inMode(o.Mode)
	if o.Fence != 0 {
		text += fmt.Sprintf(" under fence %d", o.Fence)
	}
	if o.Type == "" {
		return fmt.Sprintf("%s (%s, never answered)", text, s.Instant(o.From))
	}
	outcome := map[history.Type]string{history.OK: "", history.Fail: ", failed", history.Info: ", outcome unknown"}[o.Type]
	return fmt.Sprintf("%s (%s to %s%s)", text, s.Instant(o.From), s.Instant(o.To), outcome)
}

func had(f string) string {
	if f == history.FExtend {
		return "had extended"
	}
	return "was granted"
}

func past(f string) string {
	if f == history.FRead {
		return "read"
	}
	return "wrote"
}

// seconds formats an instant for texts: 1.204s, with microseconds if milliseconds would
// not be exact.
func seconds(d time.Duration) string {
	if d%time.Millisecond == 0 {
		return fmt.Sprintf("%.3fs", d.Seconds())
	}
	return fmt.Sprintf("%.6fs", d.Seconds())
}
