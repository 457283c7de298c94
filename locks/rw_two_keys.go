package locks

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// rwTwoKeys is the write lock of D4's read-write lock on a single node: one key for all readers and one for
// the writer. The flaw needs no fault: nobody counts readers, so the first reader to leave deletes the key
// of all readers and lets a writer in beside the remaining readers. On Redis Cluster a script with these
// two keys fails with CROSSSLOT.
//
// Unlock returns ErrNotHeld if DEL replies 0: the key expired, or another client deleted it, or the node
// lost it.
type rwTwoKeys struct {
	node              Node
	readKey, writeKey string
	ttl               time.Duration
}

func init() {
	Register(Recipe{
		ID:       "rw-two-keys",
		Document: "D4",
		Summary:  "read: Lua: no writer: SET readKey 1 EX s; write: Lua: no reader: SET writeKey 1 EX s NX · DEL readKey or writeKey",
		Topology: Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			claims := oneNodeClaims("rw-two-keys", ttl, wholeSeconds(ttl), twoKeysRead, twoKeysWrite)
			claims.ReadWrite = true
			return claims
		},
		Flaws: rwTwoKeysFlaws,
		New: onOneNode(func(c *Client, key string, ttl time.Duration) (Lock, error) {
			return &rwTwoKeys{node: c.Nodes[0], readKey: key + ":read", writeKey: key + ":write", ttl: ttl}, nil
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

// rwTwoKeysReader is an rwTwoKeys that clients acquire for reading.
type rwTwoKeysReader struct{ *rwTwoKeys }

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

// Read implements RWLocker.
func (l *rwTwoKeys) Read() Lock { return rwTwoKeysReader{l} }

// Write implements RWLocker.
func (l *rwTwoKeys) Write() Lock { return l }

// TryLock implements Lock for the writer.
func (l *rwTwoKeys) TryLock(ctx context.Context) (Lease, error) {
	return Lease{}, l.try(ctx, twoKeysWrite)
}

// Unlock implements Lock for the writer.
func (l *rwTwoKeys) Unlock(ctx context.Context, _ Lease) error {
	return del(ctx, l.node, l.writeKey)
}

// TryLock implements Lock for a reader.
func (l rwTwoKeysReader) TryLock(ctx context.Context) (Lease, error) {
	return Lease{}, l.try(ctx, twoKeysRead)
}

// Unlock implements Lock for a reader. The DEL removes the key of all readers.
func (l rwTwoKeysReader) Unlock(ctx context.Context, _ Lease) error {
	return del(ctx, l.node, l.readKey)
}

// try runs the given script, twoKeysRead or twoKeysWrite.
func (l *rwTwoKeys) try(ctx context.Context, enter *script) error {
	entered, err := enter.Run(ctx, l.node, []string{l.readKey, l.writeKey}, seconds(l.ttl)).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("acquire %q or %q: %w", l.readKey, l.writeKey, err)
	case entered == 0:
		return ErrBusy
	}
	return nil
}
