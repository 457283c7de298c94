package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Difference is the first difference between two runs of a trial.
type Difference struct {
	Log   string `json:"log"`   // history, commands or keys
	Entry int    `json:"entry"` // the entry's place in the log, from 0
	Field string `json:"field"` // the field's name in JSON; "entries" if one log is longer
	// First and Second are the two runs' values of Field.
	First  string `json:"first"`
	Second string `json:"second"`
}

// String returns the difference in one line.
func (d Difference) String() string {
	return fmt.Sprintf("%s, entry %d, %s: %s and %s", d.Log, d.Entry, d.Field, shown(d.First), shown(d.Second))
}

// shown shortens a value to fit a line.
func shown(value string) string {
	const most = 80
	if len(value) > most {
		return fmt.Sprintf("%q…", value[:most])
	}
	return fmt.Sprintf("%q", value)
}

// Compare returns the first difference between two runs of one trial, or nil. It ignores
// the names of random tokens, and error texts of libraries: the Error of a client's
// operation, and of a breakdown of the code under test.
//
// Two words are names of one token if both look random (looksDrawn) and always correspond: wherever
// one run has the first word, the other run has the second. Everything else, such as times, numbers
// and orders, must be equal.
func Compare(a, b Evidence) *Difference {
	c := newComparer()
	for _, log := range []func(a, b Evidence){c.ops, c.commands, c.keys} {
		if log(a, b); c.found != nil {
			return c.found
		}
	}
	return nil
}

type comparer struct {
	there, back map[string]string // words of the first run to those of the second, and back
	drawn       [][2]string       // pairs of corresponding random words
	log         string
	entry       int
	found       *Difference // the first difference
}

func newComparer() *comparer {
	return &comparer{there: map[string]string{}, back: map[string]string{}}
}

// differ records a difference, unless there is one already.
func (c *comparer) differ(field, a, b string) {
	if c.found == nil {
		c.found = &Difference{c.log, c.entry, field, a, b}
	}
}

// each calls entry for every index that both logs have, until there is a difference. a and b are
// the lengths of the logs; different lengths are a difference, too.
func (c *comparer) each(log string, a, b int, entry func(i int)) {
	c.log = log
	for i := range min(a, b) {
		c.entry = i
		if entry(i); c.found != nil {
			return
		}
	}
	if c.entry = min(a, b); a != b {
		c.differ("entries", fmt.Sprint(a), fmt.Sprint(b))
	}
}

// exact compares values without tokens.
func exact[T comparable](c *comparer, field string, a, b T) {
	if a != b {
		c.differ(field, fmt.Sprint(a), fmt.Sprint(b))
	}
}

// text compares values that may contain tokens.
func (c *comparer) text(field, a, b string) {
	if !c.same(a, b, false) {
		c.differ(field, a, b)
	}
}

// texts compares lists of values that may contain tokens, element by element.
func (c *comparer) texts(field string, a, b []Bytes) {
	if exact(c, field+" (length)", len(a), len(b)); len(a) != len(b) {
		return
	}
	for i := range a {
		c.text(fmt.Sprintf("%s[%d]", field, i), string(a[i]), string(b[i]))
	}
}

// set compares lists as sets, since their order depends on the tokens in them.
func (c *comparer) set(field string, a, b []string) {
	if exact(c, field+" (length)", len(a), len(b)); len(a) != len(b) {
		return
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortStableFunc(a, func(x, y string) int { return cmp.Compare(c.translated(x), c.translated(y)) })
	slices.Sort(b)
	for i := range a {
		c.text(field, a[i], b[i])
	}
}

func (c *comparer) ops(a, b Evidence) {
	c.each("history", len(a.Ops), len(b.Ops), func(i int) {
		x, y := a.Ops[i], b.Ops[i]
		exact(c, "index", x.Index, y.Index)
		exact(c, "time", x.Time, y.Time)
		exact(c, "process", x.Process, y.Process)
		exact(c, "client", x.Client, y.Client)
		exact(c, "type", x.Type, y.Type)
		exact(c, "f", x.F, y.F)
		exact(c, "lock", x.Lock, y.Lock)
		exact(c, "mode", x.Mode, y.Mode)
		c.lease(x.Lease, y.Lease)
		exact(c, "value", fmt.Sprint(x.Value), fmt.Sprint(y.Value))
		exact(c, "seq", x.Seq, y.Seq)
		exact(c, "reason", x.Reason, y.Reason)
		if x.Process == Nemesis && !x.EventKind().Breakdown {
			c.text("error", x.Error, y.Error)
		}
		exact(c, "node", x.Node, y.Node)
		exact(c, "from", x.From, y.From)
		exact(c, "offset", x.Offset, y.Offset)
		c.window(x.Window, y.Window)
		c.leftovers(x.Keys, y.Keys)
		c.lost(x.Lost, y.Lost)
	})
}

// lost compares what a restarted node has lost (Op.Lost).
func (c *comparer) lost(a, b *Lost) {
	if exact(c, "lost", a != nil, b != nil); a == nil || b == nil {
		return
	}
	exact(c, "lost.durability", a.Durability, b.Durability)
	exact(c, "lost.keys", a.Keys, b.Keys)
	exact(c, "lost.writes", a.Writes, b.Writes)
	exact(c, "lost.scripts", a.Scripts, b.Scripts)
	c.texts("lost.commands", a.Commands, b.Commands)
}

func (c *comparer) lease(a, b *Lease) {
	if exact(c, "lease", a != nil, b != nil); a == nil || b == nil {
		return
	}
	if !c.same(a.Token, b.Token, true) {
		c.differ("lease.token", a.Token, b.Token)
	}
	exact(c, "lease.fence", a.Fence, b.Fence)
	exact(c, "lease.deadline", a.Deadline, b.Deadline)
	exact(c, "lease.monotonic", a.Monotonic, b.Monotonic)
}

func (c *comparer) window(a, b *Window) {
	if exact(c, "window", a != nil, b != nil); a != nil && b != nil {
		c.text("window", string(appendRare(nil, a)), string(appendRare(nil, b)))
	}
}

// leftovers compares the keys that a post-mortem found on a node after the trial (Op.Keys).
func (c *comparer) leftovers(a, b []KeyState) {
	if exact(c, "keys (length)", len(a), len(b)); len(a) != len(b) {
		return
	}
	for i := range a {
		c.text("keys.key", a[i].Key, b[i].Key)
		exact(c, "keys.type", a[i].Type, b[i].Type)
		exact(c, "keys.ttl", a[i].TTL, b[i].TTL)
		if x, y := string(a[i].Value), string(b[i].Value); a[i].Type == "hash" {
			c.set("keys.value", strings.Fields(x), strings.Fields(y))
		} else {
			c.text("keys.value", x, y)
		}
	}
}

func (c *comparer) commands(a, b Evidence) {
	c.each("commands", len(a.Commands), len(b.Commands), func(i int) {
		x, y := a.Commands[i], b.Commands[i]
		exact(c, "index", x.Index, y.Index)
		exact(c, "client", x.Client, y.Client)
		exact(c, "node", x.Node, y.Node)
		exact(c, "conn", x.Conn, y.Conn)
		exact(c, "phase", x.Phase, y.Phase)
		exact(c, "n", x.N, y.N)
		exact(c, "op", x.Op, y.Op)
		exact(c, "sent", x.Sent, y.Sent)
		if len(x.Args) > 0 && len(y.Args) > 0 {
			exact(c, "args[0]", x.Args[0], y.Args[0])
		}
		c.texts("args", x.Args, y.Args)
		exact(c, "arrived", x.Arrived, y.Arrived)
		exact(c, "served", x.Served, y.Served)
		exact(c, "replied", x.Replied, y.Replied)
		exact(c, "exec", x.Exec, y.Exec)
		c.reply(x, y)
	})
}

// unordered maps each command whose reply has no order to the number of words in one element: 2 for
// HGETALL, whose elements are a field and its value.
var unordered = map[string]int{
	"HGETALL": 2, "HKEYS": 1, "HVALS": 1, "SMEMBERS": 1, "SINTER": 1, "SUNION": 1, "SDIFF": 1, "KEYS": 1,
}

func (c *comparer) reply(a, b Command) {
	if len(a.Args) > 0 {
		if n := unordered[strings.ToUpper(string(a.Args[0]))]; n > 0 {
			c.set("reply", grouped(string(a.Reply), n), grouped(string(b.Reply), n))
			return
		}
	}
	c.text("reply", string(a.Reply), string(b.Reply))
}

// grouped splits a compact array into groups of n elements.
func grouped(reply string, n int) (groups []string) {
	words := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(reply, "["), "]"))
	for group := range slices.Chunk(words, n) {
		groups = append(groups, strings.Join(group, " "))
	}
	return groups
}

func (c *comparer) keys(a, b Evidence) {
	c.each("keys", len(a.Keys), len(b.Keys), func(i int) {
		x, y := a.Keys[i], b.Keys[i]
		exact(c, "index", x.Index, y.Index)
		exact(c, "node", x.Node, y.Node)
		c.text("key", string(x.Key), string(y.Key))
		exact(c, "by", x.By, y.By)
		exact(c, "exec", x.Exec, y.Exec)
		exact(c, "from", x.From, y.From)
		exact(c, "to", x.To, y.To)
		c.content("before", x.Before, y.Before)
		c.content("after", x.After, y.After)
	})
}

func (c *comparer) content(field string, a, b *KeyContent) {
	if exact(c, field, a != nil, b != nil); a == nil || b == nil {
		return
	}
	exact(c, field+".type", a.Type, b.Type)
	c.text(field+".value", string(a.Value), string(b.Value))
	exact(c, field+".expires", a.Expires, b.Expires)
	c.set(field+".fields", pairsOf(a.Fields), pairsOf(b.Fields))
	if a.Type == "list" {
		c.texts(field+".members", a.Members, b.Members)
	} else {
		c.set(field+".members", plainOf(a.Members), plainOf(b.Members))
	}
}

func pairsOf(fields []Field) (all []string) {
	for _, f := range fields {
		all = append(all, string(f.Name)+"\n"+string(f.Value))
	}
	return all
}

func plainOf(members []Bytes) (all []string) {
	for _, m := range members {
		all = append(all, string(m))
	}
	return all
}
