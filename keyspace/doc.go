// Package keyspace reconstructs the grants on keys. From the changes of the nodes' keys
// (history.KeyChange), the commands that ran, and the operations of the clients it works
// out for each grant the owner, the command that made it, its TTL, how it ended and by
// whom. Oracles, causes, stories and pictures all read these grants, so that they cannot
// disagree.
//
// The input is history.Evidence, the output Keys. The terms are:
//
//   - A place holds one value: a string key, one field of a hash, one member
//     of a set, list or sorted set.
//   - A grant is the value that one command put in one place. Whether its owner was granted
//     the lock depends on the operation of the command.
//   - A strike is a command that ended a grant of another command, or changed its
//     TTL.
//   - A contact is a command that reached an existing key.
//
// The package knows nothing about locks, and of commands only which of them can change a
// count.
package keyspace
