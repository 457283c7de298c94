package history

import (
	"cmp"
	"fmt"
	"reflect"
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
	each(c, "history", a.Ops, b.Ops)
	each(c, "commands", a.Commands, b.Commands)
	each(c, "keys", a.Keys, b.Keys)
	return c.found
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

// each compares the entries of a log until there is a difference. Different lengths are a difference, too.
func each[T any](c *comparer, log string, a, b []T) {
	for i := range min(len(a), len(b)) {
		if c.found != nil {
			return
		}
		c.log, c.entry = log, i
		c.value("", reflect.ValueOf(a[i]), reflect.ValueOf(b[i]))
	}
	if c.found == nil && len(a) != len(b) {
		c.log, c.entry = log, min(len(a), len(b))
		c.differ("entries", fmt.Sprint(len(a)), fmt.Sprint(len(b)))
	}
}

// value compares two values of one type. Bytes may contain tokens; everything else must be equal, except what
// special says of a structure's fields.
func (c *comparer) value(field string, a, b reflect.Value) {
	switch kind := a.Kind(); {
	case kind == reflect.Pointer:
		if exact(c, field, !a.IsNil(), !b.IsNil()); !a.IsNil() && !b.IsNil() {
			c.value(field, a.Elem(), b.Elem())
		}
	case kind == reflect.Slice:
		if exact(c, field+" (length)", a.Len(), b.Len()); a.Len() == b.Len() {
			for i := range a.Len() {
				c.value(fmt.Sprintf("%s[%d]", field, i), a.Index(i), b.Index(i))
			}
		}
	case kind == reflect.Struct:
		for i := range a.NumField() {
			of := a.Type().Field(i)
			name, _, _ := strings.Cut(of.Tag.Get("json"), ",")
			name = strings.TrimPrefix(field+"."+name, ".")
			if compare := special[a.Type().Name()+"."+of.Name]; compare != nil {
				compare(c, name, a.Interface(), b.Interface())
			} else {
				c.value(name, a.Field(i), b.Field(i))
			}
		}
	case a.Type() == reflect.TypeFor[Bytes]():
		c.text(field, a.String(), b.String())
	default:
		exact(c, field, a.Interface(), b.Interface())
	}
}

// special has the fields that are not compared as others of their type. The functions compare a field of two
// structures.
var special = map[string]func(c *comparer, field string, a, b any){
	"Lease.Token": func(c *comparer, field string, a, b any) {
		if x, y := a.(Lease).Token, b.(Lease).Token; !c.same(x, y, true) {
			c.differ(field, x, y)
		}
	},
	"Op.Error": func(c *comparer, field string, a, b any) {
		if x := a.(Op); x.Process == Nemesis && !x.EventKind().Breakdown {
			c.text(field, x.Error, b.(Op).Error)
		}
	},
	"Op.Window": func(c *comparer, field string, a, b any) {
		x, y := a.(Op).Window, b.(Op).Window
		if exact(c, field, x != nil, y != nil); x != nil && y != nil {
			c.text(field, string(appendRare(nil, x)), string(appendRare(nil, y)))
		}
	},
	"KeyState.Key": func(c *comparer, field string, a, b any) {
		c.text(field, string(a.(KeyState).Key), string(b.(KeyState).Key))
	},
	"KeyState.Value": func(c *comparer, field string, a, b any) {
		x, y := string(a.(KeyState).Value), string(b.(KeyState).Value)
		if a.(KeyState).Type == "hash" {
			c.set(field, strings.Fields(x), strings.Fields(y))
		} else {
			c.text(field, x, y)
		}
	},
	"Command.Reply": func(c *comparer, field string, a, b any) {
		x, y := a.(Command), b.(Command)
		if len(x.Args) > 0 && unordered[strings.ToUpper(string(x.Args[0]))] > 0 {
			n := unordered[strings.ToUpper(string(x.Args[0]))]
			c.set(field, grouped(string(x.Reply), n), grouped(string(y.Reply), n))
		} else {
			c.text(field, string(x.Reply), string(y.Reply))
		}
	},
	"KeyContent.Fields": func(c *comparer, field string, a, b any) {
		c.set(field, pairsOf(a.(KeyContent).Fields), pairsOf(b.(KeyContent).Fields))
	},
	"KeyContent.Members": func(c *comparer, field string, a, b any) {
		x, y := a.(KeyContent), b.(KeyContent)
		if x.Type == "list" {
			c.text(field, strings.Join(plainOf(x.Members), "\n"), strings.Join(plainOf(y.Members), "\n"))
		} else {
			c.set(field, plainOf(x.Members), plainOf(y.Members))
		}
	},
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

// unordered maps each command whose reply has no order to the number of words in one element: 2 for
// HGETALL, whose elements are a field and its value.
var unordered = map[string]int{
	"HGETALL": 2, "HKEYS": 1, "HVALS": 1, "SMEMBERS": 1, "SINTER": 1, "SUNION": 1, "SDIFF": 1, "KEYS": 1,
}

// grouped splits a compact array into groups of n elements.
func grouped(reply string, n int) (groups []string) {
	words := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(reply, "["), "]"))
	for group := range slices.Chunk(words, n) {
		groups = append(groups, strings.Join(group, " "))
	}
	return groups
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
