package story

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// grant describes one successful acquire by its commands.
type grant struct {
	Client int
	// Commands are the commands that ran, in order. Nodes are the nodes on which they set a key.
	Commands []history.Command
	Nodes    []string
	// Value is the key's new value; "" if the commands do not show it.
	Value string
	// Fence is the fencing token that the client got; 0 = none.
	Fence int64
	// At is the time of the acquire's last command that changed a key; 0 if none did.
	At time.Duration
}

// grant returns the grant with which a hold began.
func (t *teller) grant(h checker.Hold) grant {
	g := grant{Client: h.Client}
	acquire, ok := t.Pair(h.Acquire)
	for _, c := range t.Commands {
		if !ok || c.Op != acquire.Invoke.Index || !c.Ran() || c.N == 0 && c.Phase != "" {
			continue
		}
		if acquire.Complete != nil && c.Served > acquire.Complete.Time {
			continue // the acquire succeeded before this delayed command ran
		}
		g.Commands = append(g.Commands, c)
		for _, x := range t.Events {
			if x.Command != c.Index {
				continue
			}
			g.At = max(g.At, c.Served)
			if x.Kind != facts.Set {
				continue
			}
			if g.Value = claimOf(c); !slices.Contains(g.Nodes, c.Node) {
				g.Nodes = append(g.Nodes, c.Node)
			}
		}
	}
	slices.Sort(g.Nodes)
	if op := facts.OpOf(t.Ops, h.Acquire); op.Lease != nil {
		g.Fence = op.Lease.Fence
	}
	return g
}

// grantedAt returns the time of the last command of the hold's acquire that changed a key or, if none did, of the hold's
// beginning.
func (t *teller) grantedAt(h checker.Hold) time.Duration { return cmp.Or(t.grant(h).At, h.From) }

// claimOf returns the value with which a command marks the lock's owner; "" if the command does
// not show a value.
func claimOf(c history.Command) string {
	if len(c.Args) < 3 {
		return ""
	}
	if _, script := c.Script(); script {
		keys := resp.Keys(resp.Of(c.Args), c.Args)
		for _, a := range c.Args[3+len(keys):] {
			if len(a) >= shortestToken && strings.Trim(string(a), "0123456789") != "" {
				return string(a)
			}
		}
		return ""
	}
	switch resp.Name(c.Args) {
	case "SET", "SETNX", "GETSET":
		return string(c.Args[2])
	}
	return ""
}

// shortestToken is the minimum length of a value that may be a token. A shorter value, such as "1",
// is taken for a number or a constant.
const shortestToken = 5

// tokenUse says how precisely the value of a lock's key identifies its owner.
type tokenUse int

const (
	noToken    tokenUse = iota // the commands show no value
	oneForAll                  // every client writes the same value
	oneEach                    // a client writes the same value in all its attempts
	perAttempt                 // every attempt writes a value of its own
	aTime                      // the value is the time at which a lease ends
)

// tokens are the values with which the keys of locks identify their owners.
type tokens struct {
	use   tokenUse
	names map[string]string // the short name of a value: t1, t2, … in the order of the story
}

// readTokens infers how tokens are used from all acquires, including refused ones.
func readTokens(e history.Evidence, pairs []history.Pair) tokens {
	t := tokens{names: map[string]string{}}
	acquires := map[int]bool{}
	for _, p := range pairs {
		acquires[p.Invoke.Index] = p.Invoke.F == history.FAcquire
	}
	type writer struct{ client, op int }
	writers := map[string]map[writer]bool{}
	for _, c := range e.Commands {
		if v := claimOf(c); v != "" && acquires[c.Op] {
			if writers[v] == nil {
				writers[v] = map[writer]bool{}
			}
			writers[v][writer{c.Client, c.Op}] = true
		}
	}
	if e.Claims.ClientClock {
		t.use = aTime
		return t
	}
	for v, by := range writers {
		use := perAttempt
		clients := map[int]bool{}
		for w := range by {
			clients[w.client] = true
		}
		switch {
		case len(clients) > 1 || len(by) == 1 && len(v) < shortestToken:
			use = oneForAll
		case len(by) > 1:
			use = oneEach
		}
		if t.use == noToken || use < t.use {
			t.use = use
		}
	}
	return t
}

// words describes the value and the fencing token of a grant. It gives a new value its short name in
// t.names, so it must be called in the order of the story.
func (t tokens) words(g grant) string {
	known := len(t.names) > 0
	switch {
	case g.Value == "":
		return ""
	case t.use == aTime && !known:
		t.names[g.Value] = ""
		return fmt.Sprintf("; the key's value is the time at which this lease ends, by c%d's clock", g.Client)
	case t.use == oneForAll && !known:
		t.names[g.Value] = ""
		return fmt.Sprintf("; the key's value is `%s` for every holder", ShortArg(g.Value))
	case t.use != oneEach && t.use != perAttempt:
		return ""
	}
	fence := ""
	if g.Fence != 0 {
		fence = fmt.Sprintf(", fencing token %d", g.Fence)
	}
	if name := t.names[g.Value]; name != "" {
		return fmt.Sprintf(" (again with token %s%s)", name, fence)
	}
	name := "t" + strconv.Itoa(len(t.names)+1)
	t.names[g.Value] = name
	return fmt.Sprintf(" (token %s = `%s`%s)", name, ShortArg(g.Value), fence)
}

// sendersHolds returns the holds during which clients sent commands that matter: those that the
// finding names, and those that changed another client's key. A release belongs to the hold that it
// ends.
func (f Focus) sendersHolds(from time.Duration) []checker.Hold {
	named := slices.Clone(f.Finding.Commands)
	for _, v := range f.Events {
		if v.Foreign() && v.At >= from && v.At <= f.Finding.To && slices.Contains(f.LockKeys, v.NodeKey) {
			named = append(named, v.Command)
		}
	}
	var out []checker.Hold
	for _, c := range f.commandsAt(named) {
		for _, h := range slices.Backward(f.Holds) {
			if h.Client != c.Client || f.Finding.Lock != "" && h.Lock != f.Finding.Lock || h.From > c.Sent {
				continue
			}
			// A command of an acquire belongs to no earlier hold.
			if did := facts.OpOf(f.Ops, c.Op).F; did == history.FRelease || did != history.FAcquire && h.To >= c.Sent-time.Millisecond {
				out = append(out, h)
			}
			break
		}
	}
	return out
}

// earlierCommandSteps returns steps about what clients saw before they took the lock, if taking it
// needed several commands.
func (t *teller) earlierCommandSteps() []Step {
	var out []Step
	for _, h := range t.storyHolds {
		g := t.grant(h)
		if t.Finding.Blocks() || !slices.Contains(t.Finding.Clients, h.Client) || h.To < t.Finding.From {
			continue
		}
		for _, c := range g.Commands[:max(0, len(g.Commands)-1)] {
			if text := t.earlierCommandText(c); text != "" {
				out = append(out, Step{At: c.Served, On: history.ClientName(c.Client), Text: text, Weight: part})
				break
			}
		}
	}
	return out
}

// earlierCommandText describes what a command of an acquire saw or did; "" if the command explains nothing.
func (t *teller) earlierCommandText(c history.Command) string {
	name := t.commandName(c)
	switch {
	case name == "EXISTS" && c.Reply == "0", (name == "GET" || name == "HGET") && c.Reply == "nil":
		return fmt.Sprintf("c%d's %s found no key on %s", c.Client, name, c.Node)
	case (name == "GET" || name == "HGET") && t.Claims.ClientClock:
		return fmt.Sprintf("c%d's %s read the time in the key: by c%d's clock it was over", c.Client, name, c.Client)
	case name == "SETNX" && c.Reply == "1":
		return fmt.Sprintf("c%d's SETNX set the key on %s, still without a TTL", c.Client, c.Node)
	}
	return ""
}
