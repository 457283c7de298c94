package jepsen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"olympos.io/encoding/edn"
)

// Each test chooses what the :value of an operation on a lock means. These shapes are
// understood:
//
//	nil             nothing
//	name            the lock or a token of an acquire; see plainLocks
//	[lock value]    jepsen.independent's tuple: the lock, and another of these shapes
//	number          the fence, in an acquire's ok and in later operations of that hold
//	token           the token, in an acquire's ok and in later operations of that hold
//	:read, :write   the mode of a read-write lock
//	{…}             :lock, :mode, :fence (0 = none), :token, :client; other keys are ignored
//	true            nothing: the operation succeeded

// saying is the content of one :value.
type saying struct {
	lock   string
	mode   history.Mode
	fence  int64
	token  string
	client string
	isMap  bool
	plain  any // a word or a number of unknown meaning
}

const shapes = "nil, a lock's name, a fence, a token, [lock value], :read or :write, or a map with :lock, :fence, :token, :client"

// said parses the :value of an operation on a lock.
func said(v any) (saying, error) {
	switch v := plainly(v).(type) {
	case nil:
		return saying{}, nil
	case bool:
		if !v {
			return saying{}, fmt.Errorf(":value is false; an operation that did not succeed has :type :fail")
		}
		return saying{}, nil
	case []any:
		if len(v) != 2 || scalar(v[0]) == "" {
			return saying{}, fmt.Errorf(":value is a vector of %d, expected %s", len(v), shapes)
		}
		if _, nested := plainly(v[1]).([]any); nested {
			return saying{}, fmt.Errorf(":value is a tuple in a tuple, expected %s", shapes)
		}
		s, err := said(v[1])
		s.lock = scalar(v[0])
		return s, err
	case map[any]any:
		return saidByMap(v)
	case edn.Keyword:
		if mode, ok := modes[string(v)]; ok {
			return saying{mode: mode}, nil
		}
	}
	if scalar(v) == "" {
		return saying{}, fmt.Errorf(":value is %v, expected %s", v, shapes)
	}
	return saying{plain: plainly(v)}, nil
}

func saidByMap(m map[any]any) (saying, error) {
	s := saying{
		isMap: true, lock: scalar(either(m, "lock", "name", "key")), token: scalar(either(m, "token")),
		client: scalar(either(m, "client", "owner")),
	}
	var err error
	if s.mode, err = modeOf(plainly(either(m, "mode"))); err != nil {
		return s, err
	}
	if fence := either(m, "fence"); fence != nil {
		n, ok := whole(fence)
		if !ok {
			return s, fmt.Errorf(":fence is %v, expected a whole number", fence)
		}
		s.fence = n
	}
	return s, nil
}

// scalar returns a word or a whole number as text; "" for anything else.
func scalar(v any) string {
	v = plainly(v)
	if n, ok := whole(v); ok {
		return fmt.Sprint(n)
	}
	return word(v)
}

// meanings interprets the values of entries that Lockstorm did not write. named maps a process to
// the owner that its entries name. line is the line of err.
func (r *Reading) meanings(entries []ednEntry, values Values) (named map[history.Process]string, line int, err error) {
	all := make([]saying, len(entries))
	for i, e := range entries {
		if e.plainOp() && (e.op.F != history.FRead && e.op.F != history.FWrite) {
			if all[i], err = said(e.value); err != nil {
				return nil, e.line, err
			}
		}
	}
	names, line, err := r.plainLocks(entries, all, values)
	if err != nil {
		return nil, line, err
	}
	m := meaning{names: names, tokens: values == ValuesToken, open: map[history.Process]int{}, named: map[history.Process]string{}}
	for i := range entries {
		if !entries[i].plainOp() {
			continue
		}
		m.tuples = m.tuples || all[i].lock != "" && !all[i].isMap
	}
	for i := range entries {
		if entries[i].plainOp() {
			m.fill(entries, all, i)
		}
	}
	return m.named, 0, nil
}

// plainOp reports whether the entry is of a client and from another harness.
func (e *ednEntry) plainOp() bool { return e.op.Process != history.Nemesis && !e.explicit }

// plainLocks returns the plain values of acquires if these values are names of locks; nil if they are
// not. The caller states the meaning (values), unless all acquires have the same value: they are then
// about one lock. line is the line of err.
func (r *Reading) plainLocks(entries []ednEntry, all []saying, values Values) (names map[string]bool, line int, err error) {
	names = map[string]bool{}
	acquires, plain, first := 0, 0, -1
	for i, e := range entries {
		if !e.plainOp() || e.op.F != history.FAcquire || e.op.Type != history.Invoke {
			continue
		}
		acquires++
		if v := scalar(all[i].plain); v != "" && all[i].lock == "" {
			if first < 0 {
				first = i
			}
			plain++
			names[v] = true
		}
	}
	switch {
	case first < 0 || values == ValuesToken:
		return nil, 0, nil
	case values == ValuesLock || len(names) == 1 && plain == acquires:
		r.note("the plain values of acquires are read as names of locks: " + someOf(slices.Sorted(maps.Keys(names))))
		return names, 0, nil
	}
	return nil, entries[first].line, input.Errorf("not all acquires have the same :value (here %s), so it may name the lock, or the client or this one acquire: expected %s lock or %[2]s token", scalar(all[first].plain), input.Setting("values"))
}

// someOf lists the first names, and counts the rest if they are too many to read.
func someOf(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// meaning sets the locks and leases of the entries of one history.
type meaning struct {
	names          map[string]bool            // plain values that are names of locks
	tokens, tuples bool                       // plain values are tokens; some value is a tuple [lock value]
	open           map[history.Process]int    // index of a process's open invocation
	named          map[history.Process]string // the owner that a process's entries name
}

// fill sets an entry's lock, mode and lease from its own value and from the value of its
// invocation.
func (m *meaning) fill(entries []ednEntry, all []saying, i int) {
	e, s := &entries[i], &all[i]
	if owner := cmp.Or(e.owner, s.client); owner != "" {
		m.named[e.op.Process] = owner
	}
	at, completes := m.open[e.op.Process]
	completes = completes && e.op.Type != history.Invoke && e.op.F != history.FLost
	if e.op.Type == history.Invoke {
		m.open[e.op.Process] = i
	}
	if e.op.F == history.FRead || e.op.F == history.FWrite {
		m.touch(e)
	} else {
		m.plain(e, s, completes && scalar(all[at].plain) == scalar(s.plain))
	}
	if completes {
		delete(m.open, e.op.Process)
		e.op.Lock = entries[at].op.Lock
		if e.op.Mode == "" {
			e.op.Mode = entries[at].op.Mode
		}
		if s.lock != "" && all[at].lock == "" && all[at].plain == nil {
			e.op.Lock = s.lock // only the completion names the lock
			entries[at].op.Lock = s.lock
		}
	}
}

// plain sets the lock, mode and lease of an operation on a lock. repeats: the entry is a completion and
// has the plain value of its invocation. A repeated value says nothing new unless it is a token.
func (m *meaning) plain(e *ednEntry, s *saying, repeats bool) {
	lease, lock, text := history.Lease{Token: s.token, Fence: s.fence}, s.lock, scalar(s.plain)
	_, number := whole(s.plain)
	proposed := e.op.F == history.FAcquire && e.op.Type == history.Invoke
	switch {
	case text == "":
	case m.tokens && (proposed || repeats || !number):
		lease.Token = text
	case repeats:
	case lock == "" && e.op.Type == history.Invoke && m.names[text]:
		lock = text
	case proposed && lock == "": // the value names only this acquire; the completion replaces it
	case number:
		lease.Fence, _ = whole(s.plain)
	default:
		lease.Token = text
	}
	if e.op.Lock == "" {
		e.op.Lock = lock
	}
	if e.op.Lock == "" {
		e.op.Lock = defaultLock
	}
	if s.mode != "" {
		e.op.Mode = s.mode
	}
	if lease != (history.Lease{}) && e.op.Lease == nil {
		e.op.Lease = &lease
	}
}

// touch sets the lock and the value, one or several numbers, of a read or a write.
func (m *meaning) touch(e *ednEntry) {
	v := plainly(e.value)
	if tuple, ok := v.([]any); ok && m.tuples && len(tuple) == 2 {
		if e.op.Lock == "" {
			e.op.Lock = scalar(tuple[0])
		}
		v = plainly(tuple[1])
	}
	if e.op.Lock == "" {
		e.op.Lock = defaultLock
	}
	e.op.Value = numbers(v)
}
