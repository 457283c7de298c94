package locks

import (
	"context"
	"fmt"

	"github.com/lockstorm/lockstorm/history"
)

// rwTwoKeys is one side of D4's read-write lock on a single node: one key for all readers and one for
// the writer. The flaw needs no fault: nobody counts readers, so the first reader to leave deletes the key
// of all readers and lets a writer in beside the remaining readers. On Redis Cluster a script with these
// two keys fails with CROSSSLOT.
//
// Unlock returns ErrNotHeld if DEL replies 0: the key expired, or another client deleted it, or the node
// lost it.
type rwTwoKeys struct {
	handle
	enter *script // twoKeysRead or twoKeysWrite
	side  int     // which of keys is the side's own
}

func init() {
	Register(Recipe{
		ID:       "rw-two-keys",
		Document: "D4",
		Summary:  "read: Lua: no writer: SET readKey 1 EX s; write: Lua: no reader: SET writeKey 1 EX s NX · DEL readKey or writeKey",
		Topology: Single,
		Claims:   claims("rw-two-keys", wholeSeconds, history.Claims{ReadWrite: true}, twoKeysRead, twoKeysWrite),
		Flaws:    rwTwoKeysFlaws,
		New: onOneNode(func(h handle) (Lock, error) {
			return rwLock{&rwTwoKeys{h, twoKeysWrite, 1}, &rwTwoKeys{h, twoKeysRead, 0}}, nil
		}),
	})
}

var rwTwoKeysFlaws = flaws(
	may(anyFault, under([]string{slotMigration}, "cross-slot", Bug,
		"The script's two keys are in different slots: every node of a Redis Cluster refuses it, and nobody ever gets in.",
		"D4: the single-node form and the cluster form", "liveness")),
	foreignDelete(
		"The first reader to leave deletes the key of all readers and lets a writer in beside the others; after an overrun any bare DEL removes another's key.",
		"D4, single node: SET and DEL of one key for all readers", without(anyFault, slotMigration)...),
	under(without(anyFault, slotMigration), "race", Bug,
		"Readers are not counted: the key is deleted when the reader that set it last leaves, and the script grants a writer while other readers are in.",
		"D4, single node: SET and DEL of one key for all readers", "exclusion", "resource"),
	under([]string{"delay"}, "late-command", Bug,
		"A bare DEL that arrives after its client gave up and locked again removes the next lease.",
		"D4, single node", "exclusion", "resource"),
	leaseOutlived(), workOutlived("D4, single node"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
)

// twoKeysRead lets a reader in and returns 1. It returns 0 if there is a writer. Each reader sets
// the readers' key with a new expiry.
// KEYS[1] is the readers' key, KEYS[2] the writer's, ARGV[1] the lease in seconds.
var twoKeysRead = newScript("two-keys-read", `
if redis.call("EXISTS", KEYS[2]) == 1 then
  return 0
end
redis.call("SET", KEYS[1], 1, "EX", ARGV[1])
return 1`)

// twoKeysWrite lets a writer in and returns 1. It returns 0 if there are readers or a writer.
// KEYS[1] is the readers' key, KEYS[2] the writer's, ARGV[1] the lease in seconds.
var twoKeysWrite = newScript("two-keys-write", `
if redis.call("EXISTS", KEYS[1]) == 1 then
  return 0
end
if redis.call("SET", KEYS[2], 1, "EX", ARGV[1], "NX") then
  return 1
end
return 0`)

// keys returns the readers' key and the writer's.
func (l *rwTwoKeys) keys() []string { return []string{l.key + ":read", l.key + ":write"} }

// TryLock implements Lock.
func (l *rwTwoKeys) TryLock(ctx context.Context) (Lease, error) {
	entered, err := l.enter.Run(ctx, l.node(), l.keys(), seconds(l.ttl)).Int64()
	switch {
	case err != nil:
		return Lease{}, fmt.Errorf("acquire %q or %q: %w", l.keys()[0], l.keys()[1], err)
	case entered == 0:
		return Lease{}, ErrBusy
	}
	return Lease{}, nil
}

// Unlock implements Lock. A reader's DEL removes the key of all readers.
func (l *rwTwoKeys) Unlock(ctx context.Context, _ Lease) error {
	return del(ctx, l.node(), l.keys()[l.side])
}
