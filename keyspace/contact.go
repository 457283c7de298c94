package keyspace

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// This file finds the keys that a command reached: the keys that it names, the keys that it
// changed, and the keys whose names its script is known to build.

// made is a key whose name a script builds from its arguments, such as 'lock:'..ARGV[1].
type made struct {
	key string
	of  []history.Bytes // the arguments that the name contains
}

// user is a script and the lock of an operation that runs the script; the lock is "" for a command
// outside operations.
type user struct{ script, lock string }

// reach finds the key names that scripts build themselves, from the changes that these
// scripts made. For each command it notes the names that the command's script builds from
// the arguments, even if the command changed nothing.
func (r *reader) reach() {
	taught := map[user][]made{}
	for pos := range r.Commands {
		for _, i := range r.Effects[pos] {
			key := string(r.Evidence.Keys[i].Key)
			if slices.Contains(r.Commands[pos].Args, history.Bytes(key)) {
				continue
			}
			by, ok := r.userOf(pos)
			if known := slices.ContainsFunc(taught[by], func(m made) bool { return m.key == key }); !ok || known {
				continue
			}
			m := made{key: key}
			args := r.Commands[pos].Args
			for _, a := range args[min(3, len(args)):] { // after the script and the number of keys
				if a != "" && strings.Contains(key, string(a)) {
					m.of = append(m.of, a)
				}
			}
			taught[by] = append(taught[by], m)
		}
	}
	r.unnamed = map[int][]string{}
	if len(taught) == 0 {
		return
	}
	for pos, c := range r.Commands {
		by, _ := r.userOf(pos)
		for _, m := range taught[by] {
			if !slices.ContainsFunc(m.of, func(a history.Bytes) bool { return !slices.Contains(c.Args, a) }) {
				r.unnamed[pos] = append(r.unnamed[pos], m.key)
			}
		}
		slices.Sort(r.unnamed[pos])
	}
}

// userOf returns the script that the command runs, and the lock of the command's operation; ok is
// false if it runs no script.
func (r *reader) userOf(pos int) (user, bool) {
	c := r.Commands[pos]
	sha, ok := c.Script()
	return user{sha, r.pair(c.Op).Invoke.Lock}, ok
}

// Reaches reports whether the command at position pos of the log names the key, or runs a
// script that builds the key's name.
func (k *Keys) Reaches(pos int, key string) bool {
	args := k.commands[pos].Args
	return len(args) > 1 && slices.Contains(args[1:], history.Bytes(key)) || slices.Contains(k.unnamed[pos], key)
}

// meet records a contact for each existing key that the command reached, changed or not,
// and returns the names of these keys.
func (r *reader) meet(n *node, x item) (met []string) {
	at := r.ran[x.cmd]
	reached := func(name string) {
		k := n.keys[name]
		// A key exists until the node's clock, in whole milliseconds, shows a later time than its expiry.
		if k == nil || k.content == nil || k.term.Mortal && k.due().Hi+time.Millisecond <= at.Lo || slices.Contains(met, name) {
			return
		}
		met = append(met, name)
		if on := k.carried(); len(on) > 0 {
			r.Contacts = append(r.Contacts, Contact{Cmd: x.cmd, At: at, Seq: r.tick(), On: on})
		}
	}
	for i, a := range r.Commands[x.cmd].Args {
		if i > 0 {
			reached(string(a))
		}
	}
	for _, i := range x.changes {
		reached(string(r.Evidence.Keys[i].Key))
	}
	for _, name := range r.unnamed[x.cmd] {
		reached(name)
	}
	return met
}
