package node

import (
	"maps"

	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// ownership is what the remedies in force must know of the keys. Without remedies it stays empty.
type ownership struct {
	trial  *remedy.Trial             // nil = no remedy is in force
	sender *remedy.Sender            // of the running command; nil = no client's command runs
	owners map[string]*remedy.Sender // who created or overwrote each key
	wrote  map[writer]string         // the values that attempts wrote
	last   map[string]change         // the last change of each key
	begun  map[operation]int         // count of changes at the operation's first command
	count  int                       // changes of keys
}

// writer is an attempt that wrote a key.
type writer struct {
	key             string
	client, attempt int
}

// operation is a client's operation, by its number.
type operation struct{ client, number int }

// change is a key's last change: its number, and the client; -1 = none.
type change struct{ number, client int }

// Remedies puts a trial's remedies in force; nil = none.
func (n *Node) Remedies(t *remedy.Trial) {
	n.own = ownership{trial: t, owners: map[string]*remedy.Sender{}, wrote: map[writer]string{}, last: map[string]change{}, begun: map[operation]int{}}
}

// From says who sent the next command; nil = nobody.
func (n *Node) From(s *remedy.Sender) {
	o := &n.own
	if o.sender = s; s == nil || s.Operation == 0 {
		return
	}
	if _, known := o.begun[operation{s.Client, s.Operation}]; !known {
		o.begun[operation{s.Client, s.Operation}] = o.count
	}
}

// CopyOwners takes over from another node whose each key is.
func (n *Node) CopyOwners(from *Node) {
	if n.own.trial != nil {
		n.own.owners, n.own.wrote = maps.Clone(from.own.owners), maps.Clone(from.own.wrote)
	}
}

// changed notes a change of a key. replaced: the key has a new value.
func (k *keyspace) changed(key string, exists, replaced bool) {
	o := &k.own
	if o.trial == nil {
		return
	}
	o.count++
	o.last[key] = change{o.count, -1}
	if !exists {
		delete(o.owners, key)
	}
	s := o.sender
	if s == nil {
		return
	}
	o.last[key] = change{o.count, s.Client}
	if !exists || o.owners[key] != nil && !replaced {
		return
	}
	o.owners[key] = s
	o.trial.Granted(s, key)
	if value, err := k.db.Get(key); err == nil {
		o.wrote[writer{key, s.Client, s.AttemptOn(key)}] = value
	}
}

// foreign returns whether the running command meets a key of another attempt.
func (k *keyspace) foreign(key string) bool {
	owner := k.own.owners[key]
	return k.own.sender != nil && owner != nil && !owner.Same(k.own.sender, key) && k.db.Exists(key)
}

// refuses reports whether a remedy refuses the running command on a key: an owner check, or an operation that
// must be atomic.
func (k *keyspace) refuses(check, key string) bool {
	t := k.own.trial
	if t == nil || k.own.sender == nil || !(t.On(check) && k.checkFails(key) || k.interrupted(key)) {
		return false
	}
	t.Act()
	return true
}

// checkFails reports whether an owner check of the running command's sender fails: the key's value differs
// from the one that the sender's attempt last wrote. Without unique tokens the values of two attempts may be equal.
func (k *keyspace) checkFails(key string) bool {
	if !k.foreign(key) {
		return false
	}
	s := k.own.sender
	value, err := k.db.Get(key)
	for a := s.AttemptOn(key); a > 0 && err == nil && !k.own.trial.On(remedy.UniqueToken); a-- {
		if mine, ok := k.own.wrote[writer{key, s.Client, a}]; ok {
			return mine != value
		}
	}
	return true
}

// interrupted reports whether another client changed the key since the first command of the operation that must
// be atomic.
func (k *keyspace) interrupted(key string) bool {
	s := k.own.sender
	if s.Operation == 0 || !k.own.trial.On(s.Atomic) {
		return false
	}
	last, ok := k.own.last[key]
	return ok && last.client != s.Client && last.number > k.own.begun[operation{s.Client, s.Operation}]
}

// distinct reports whether a read of the key must differ from what its reader wrote.
func (k *keyspace) distinct(key, value string) bool {
	t := k.own.trial
	if !t.On(remedy.UniqueToken) || !k.foreign(key) {
		return false
	}
	if _, number := parseInt(value); number && !k.own.sender.IsLock(key) {
		return false // a counter
	}
	t.Act()
	return true
}

// keeps reports whether a remedy keeps an expired key.
func (k *keyspace) keeps(key string) bool {
	t, owner := k.own.trial, k.own.owners[key]
	if !t.On(remedy.KeepWhileInUse) || owner == nil || k.readOnly || !t.Works(owner, key) {
		return false
	}
	t.Act()
	return true
}

// orphans returns the locks' keys whose attempts are over, if a remedy removes them.
func (k *keyspace) orphans() (gone []string) {
	t := k.own.trial
	if !t.On(remedy.NoOrphan) || k.readOnly {
		return nil
	}
	for key, owner := range k.own.owners {
		if owner.IsLock(key) && k.db.Exists(key) && t.Left(owner, key) {
			gone = append(gone, key)
			t.Act()
		}
	}
	return gone
}
