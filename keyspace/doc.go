// Package keyspace reconstructs the grants on keys. Its sources are the changes of the
// nodes' keys (history.KeyChange), the commands that ran, and the clients' operations. For
// each grant it finds the owner, the command that made the grant, the TTL, and when, how
// and by which command the grant ended. Oracles, causes, stories and pictures all read
// these grants, so that they cannot disagree.
//
// The input is history.Evidence, the output Keys. The terms are:
//
//   - A place holds one value: a string key, one field of a hash, one member
//     of a set, list or sorted set.
//   - A grant is the value that one command put in one place. A grant alone does not mean
//     that its owner got the lock: the result of the command's operation decides that.
//   - A share is a grant in a place whose number is a count. A count goes up if acquires
//     raise it, and down if acquires lower it, as they do with a semaphore's free permits.
//   - A strike is a command that ended another command's grant or changed its TTL.
//   - A contact is a command that reached an existing key.
//
// The package knows nothing about locks. Of Redis commands it knows only which ones can
// change a count.
package keyspace
