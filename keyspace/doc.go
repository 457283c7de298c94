// Package keyspace is the one reader of keys. From what the nodes' keys were
// (history.KeyChange), which commands ran, and what clients asked for, it works out
// the grants on keys: whose each was, by which command it came about, until when it
// was to live, how it ended and by whom. Oracles, causes, stories and pictures all
// read this, so that they cannot disagree.
//
// In: history.Evidence. Out: Keys. Its words:
//
//   - A place is where a value stands: a string key, one field of a hash, one member
//     of a set, list or sorted set.
//   - A grant is what one command put in one place. Whether its owner was granted
//     the lock by it, its operation says.
//   - A strike is a command that ended what another command had put somewhere, or
//     changed its life.
//   - A contact is a command that reached a key which was there.
//
// It knows no lock, and of commands only whether they can change a count.
package keyspace
