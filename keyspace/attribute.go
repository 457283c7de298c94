package keyspace

import (
	"maps"
	"slices"

	"github.com/lockstorm/lockstorm/history"
)

// Attribute returns the evidence after detaching commands that belong to another lock. The
// record attributes every command that a client sends during an operation to that
// operation, even a command that the client's watchdog sends for another lock. Attribute
// detaches a command from its operation (its Op becomes -1) if the command touched keys of
// other locks and no key of the operation's lock.
//
// The keys of a lock are the keys that every successful acquire of the lock changed;
// acquires that changed nothing are ignored. If only one acquire remains, the keys of other
// locks that its client held at its start do not count, unless no keys would be left. If no key
// of a lock is known, the commands of its operations stay attached. Attribute does not change e.
func Attribute(e history.Evidence) history.Evidence {
	if len(e.Commands) == 0 || !severalLocks(e.Ops) {
		return e
	}
	lockOf := map[int]string{}
	acquired := map[int]bool{}
	pairs, _ := history.Pairs(e.Ops) // the caller has checked the history
	for _, p := range pairs {
		if p.Invoke.Process != history.Nemesis {
			lockOf[p.Invoke.Index] = p.Invoke.Lock
			acquired[p.Invoke.Index] = p.Invoke.F == history.FAcquire && p.Done() == history.OK
		}
	}
	changed := changedBy(e)
	needed := neededBy(pairs, byAcquire(e, changed, acquired))
	e.Commands = slices.Clone(e.Commands)
	for i := range e.Commands {
		c := &e.Commands[i]
		lock, ok := lockOf[c.Op]
		if ok && len(needed[lock]) > 0 && elsewhere(*c, changed[executed{c.Node, c.Exec}], lock, needed) {
			c.Op = -1
		}
	}
	return e
}

// severalLocks reports whether clients' operations concern more than one lock.
func severalLocks(ops []history.Op) bool {
	first := -1
	for i := range ops {
		switch op := &ops[i]; {
		case op.Process == history.Nemesis || op.Type != history.Invoke:
		case first < 0:
			first = i
		case op.Lock != ops[first].Lock:
			return true
		}
	}
	return false
}

// neededBy returns the keys of each lock, from the keys that its successful acquires changed.
func neededBy(pairs []history.Pair, acquires map[int]map[string]bool) map[string]map[string]bool {
	needed := map[string]map[string]bool{}
	only := map[string]history.Pair{} // by lock: its acquire, if the lock has only one
	for _, p := range pairs {
		keys, lock := acquires[p.Invoke.Index], p.Invoke.Lock
		if keys == nil {
			continue
		}
		if needed[lock] == nil {
			needed[lock], only[lock] = maps.Clone(keys), p
			continue
		}
		delete(only, lock)
		maps.DeleteFunc(needed[lock], func(key string, _ bool) bool { return !keys[key] })
	}
	for lock, p := range only {
		others := heldBy(p, pairs, acquires)
		own := maps.Clone(needed[lock])
		if maps.DeleteFunc(own, func(key string, _ bool) bool { return others[key] }); len(own) > 0 {
			needed[lock] = own
		}
	}
	return needed
}

// heldBy returns the keys of the other locks that the client held when it began this
// acquire: for each lock, all keys that its latest successful acquire by the client
// changed.
func heldBy(acquire history.Pair, pairs []history.Pair, acquires map[int]map[string]bool) map[string]bool {
	held := map[string]map[string]bool{} // keys by lock
	for _, p := range pairs {
		switch o := p.Invoke; {
		case o.Client != acquire.Invoke.Client || o.Lock == acquire.Invoke.Lock || o.Time > acquire.Invoke.Time:
		case o.F == history.FRelease:
			delete(held, o.Lock)
		case acquires[o.Index] != nil:
			held[o.Lock] = acquires[o.Index]
		}
	}
	all := map[string]bool{}
	for _, keys := range held {
		maps.Copy(all, keys)
	}
	return all
}

// executed identifies a command by its node and its position among the commands that ran on that
// node.
type executed struct {
	node string
	exec int
}

// changedBy returns the keys that each command changed.
func changedBy(e history.Evidence) map[executed][]string {
	changed := map[executed][]string{}
	for _, k := range e.Keys {
		if k.By == history.ByCommand && k.Exec > 0 {
			at := executed{k.Node, k.Exec}
			changed[at] = append(changed[at], string(k.Key))
		}
	}
	return changed
}

// byAcquire returns the keys that each successful acquire in acquired changed, if it changed any.
func byAcquire(e history.Evidence, changed map[executed][]string, acquired map[int]bool) map[int]map[string]bool {
	all := map[int]map[string]bool{}
	for _, c := range e.Commands {
		if c.Exec == 0 || !acquired[c.Op] {
			continue
		}
		for _, key := range changed[executed{c.Node, c.Exec}] {
			if all[c.Op] == nil {
				all[c.Op] = map[string]bool{}
			}
			all[c.Op][key] = true
		}
	}
	return all
}

// elsewhere reports whether the command changed or named keys of other locks, and none of the given lock.
// needed has the keys of each lock.
func elsewhere(c history.Command, changed []string, lock string, needed map[string]map[string]bool) bool {
	others := false
	names := slices.Clone(changed)
	for _, arg := range c.Args {
		names = append(names, string(arg))
	}
	for _, name := range names {
		if needed[lock][name] {
			return false
		}
		for _, keys := range needed {
			others = others || keys[name]
		}
	}
	return others
}
