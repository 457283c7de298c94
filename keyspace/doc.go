// Package keyspace is the one reader of keys. From what the nodes' keys were
// (history.KeyChange), which commands ran, and what clients asked for, it works out
// the grants on keys: the owner of each grant, the command that made it, its life, how
// it ended and by whom. Oracles, causes, stories and pictures all read these grants, so
// that they cannot disagree.
//
// In: history.Evidence. Out: Keys. Its words:
//
//   - A place is where a value stands: a string key, one field of a hash, one member
//     of a set, list or sorted set.
//   - A grant is what one command put in one place. The operation of the command says
//     whether the owner was granted the lock by it.
//   - A strike is a command that ended a grant of another command, or changed its
//     life.
//   - A contact is a command that reached a key which was there.
//
// It knows no lock. The only thing that it knows of commands is which of them can change
// a count.
package keyspace
