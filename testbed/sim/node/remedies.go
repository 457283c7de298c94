package node

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// ownership is what the remedies in force must know of the keys. Without remedies it stays empty.
type ownership struct {
	trial  *remedy.Trial                   // nil = no remedy is in force
	sender *remedy.Sender                  // of the running command; nil = no client's command runs
	owners map[string]*remedy.Sender       // who created or overwrote each key
	wrote  map[writer]string               // the values that attempts wrote
	fields map[string]map[string]hashField // of hashes, by key and name
	last   map[string]change               // the last change of each key
	begun  map[operation]int               // count of changes at the operation's first command
	count  int                             // changes of keys
}

// hashField is a field of a hash, and who gave it its value; nil = no client.
type hashField struct {
	value string
	owner *remedy.Sender
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
	n.own = ownership{
		trial: t, owners: map[string]*remedy.Sender{}, wrote: map[writer]string{}, fields: map[string]map[string]hashField{},
		last: map[string]change{}, begun: map[operation]int{},
	}
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
		n.own.owners, n.own.wrote, n.own.fields = maps.Clone(from.own.owners), maps.Clone(from.own.wrote), maps.Clone(from.own.fields)
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
	k.ownFields(key)
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

// ownFields notes whose the fields of a hash are: a changed field is the running command's, unless it is a counter.
func (k *keyspace) ownFields(key string) {
	names, _ := k.db.HKeys(key) // an error means that there are none
	is := make(map[string]hashField, len(names))
	for _, name := range names {
		f, known := k.own.fields[key][name]
		value := k.db.HGet(key, name)
		_, was := parseInt(f.value)
		if _, counts := parseInt(value); !known || f.value != value && !(was && counts) {
			f.owner = k.own.sender
		}
		f.value = value
		is[name] = f
	}
	k.own.fields[key] = is
}

// holders returns the attempts to which an existing key belongs: those that wrote the fields of a hash, or the one that
// created or overwrote the key.
func (k *keyspace) holders(key string) (all []*remedy.Sender) {
	if !k.db.Exists(key) {
		return nil
	}
	for _, f := range k.own.fields[key] {
		if f.owner != nil {
			all = append(all, f.owner)
		}
	}
	if owner := k.own.owners[key]; owner != nil && len(all) == 0 {
		all = append(all, owner)
	}
	return all
}

// foreign returns whether the running command meets a key of other attempts.
func (k *keyspace) foreign(key string) bool {
	s, holders := k.own.sender, k.holders(key)
	return s != nil && len(holders) > 0 && !slices.ContainsFunc(holders, func(o *remedy.Sender) bool { return o.Same(s, key) })
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
// from the one that the sender's attempt last wrote, or no field of a hash is the sender's. Without unique tokens the
// values of two attempts may be equal, and fields have the client's name.
func (k *keyspace) checkFails(key string) bool {
	if !k.foreign(key) {
		return false
	}
	s := k.own.sender
	if k.own.trial.On(remedy.UniqueToken) {
		return true
	}
	value, err := k.db.Get(key)
	if err != nil {
		return !slices.ContainsFunc(k.holders(key), func(o *remedy.Sender) bool { return o.Client == s.Client })
	}
	mine, ok := k.mine(key)
	return !ok || mine != value
}

// mine returns the string that the running command's client last wrote to a key.
func (k *keyspace) mine(key string) (value string, ok bool) {
	s := k.own.sender
	for a := s.AttemptOn(key); a > 0 && !ok; a-- {
		value, ok = k.own.wrote[writer{key, s.Client, a}]
	}
	return value, ok
}

// keepsFields reports whether a remedy refuses that the running command removes these fields of a hash.
func (k *keyspace) keepsFields(key string, names []string) bool {
	s := k.own.sender
	if !k.own.trial.On(remedy.OwnRelease) || s == nil {
		return false
	}
	others := false
	for _, name := range names {
		f := k.own.fields[key][name]
		if f.owner != nil && f.owner.Client == s.Client {
			return false
		}
		others = others || f.owner != nil
	}
	if others {
		k.own.trial.Act()
	}
	return others
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

// distinct returns what a reader of a key reads, if that must differ from what the reader wrote: another attempt has
// written the same. A number stays a number, which the lock may take for a time.
func (k *keyspace) distinct(key, value string) string {
	t := k.own.trial
	if !t.On(remedy.UniqueToken) || !k.foreign(key) {
		return value
	}
	n, number := parseInt(value)
	mine, ok := k.mine(key)
	if !ok || mine != value || number && !k.own.sender.IsLock(key) { // a counter
		return value
	}
	t.Act()
	if number {
		return strconv.FormatInt(n+1, 10)
	}
	return "another attempt's " + value
}

// giveLife gives locks' keys without an expiry the lease time, if a remedy does so.
func (k *keyspace) giveLife() {
	t := k.own.trial
	if !t.On(remedy.Expiry) || k.readOnly {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(k.own.owners)) {
		if _, mortal := k.deadlines[key]; !mortal && k.own.owners[key].IsLock(key) && k.db.Exists(key) {
			t.Act()
			k.live(key, k.nowMs+t.Lease().Milliseconds())
		}
	}
}

// keeps reports whether a remedy keeps an expired key.
func (k *keyspace) keeps(key string) bool {
	t := k.own.trial
	works := func(o *remedy.Sender) bool { return t.Works(o, key) }
	if !t.On(remedy.KeepWhileInUse) || k.readOnly || !slices.ContainsFunc(k.holders(key), works) {
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
		holders := k.holders(key)
		goesOn := func(o *remedy.Sender) bool { return !t.Left(o, key) }
		if owner.IsLock(key) && len(holders) > 0 && !slices.ContainsFunc(holders, goesOn) {
			gone = append(gone, key)
			t.Act()
		}
	}
	return gone
}
