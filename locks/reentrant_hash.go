package locks

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// reentrantHash is D2's reentrant lock: a hash with one field, all in Lua. The field's name is the
// owner's id, and the field's value is the owner's number of entries. The flaw: nothing tells a new
// entry from a repeated one. If a client repeats an entry after a lost reply, the entry counts
// twice: the client sends one release too few, and the key stays until it expires.
//
// Unlock returns ErrNotHeld if it does not find the owner's field.
type reentrantHash struct {
	handle
	owner string
}

func init() {
	Register(Recipe{
		ID:       "reentrant-hash",
		Document: "D2",
		Summary:  "Lua: free or own: HINCRBY key owner 1, EXPIRE · Lua: HINCRBY key owner -1, at 0 DEL",
		Topology: Single,
		Claims:   claims("reentrant-hash", wholeSeconds, history.Claims{Reentrant: true}, hashEnter, hashLeave),
		Flaws:    entriesWithoutRenewal("D2"),
		New:      withState(ownerID, func(h handle, owner string) Lock { return &reentrantHash{h, owner} }),
	})
}

// entriesWithoutRenewal returns the flaws of a lock that counts an owner's entries and that nobody
// renews.
func entriesWithoutRenewal(document string) []Flaw {
	return flaws(
		may([]string{"partition-replies", "node-pause"}, under([]string{"client-pause", "partition", "partition-requests", "delay"}, "lease-outlived", Limit,
			"A holder that is frozen for longer than the lease, or whose re-entries or releases get no answer for that long, still believes that it holds the lock, while the key expires and another client gets in.",
			kleppmann, "exclusion")),
		// The fault delay delivers the holder's late command as soon as another client has the lock,
		// and the reply tells the holder that the lock is lost. Whether the other client has written
		// to the resource by then is chance.
		may([]string{"delay", "partition-replies", "node-pause"}, under([]string{"client-pause", "partition", "partition-requests"}, "lease-outlived", Limit,
			"A holder that is frozen for longer than the lease, or whose re-entries get no answer for that long, works on while another client holds the lock.",
			kleppmann, "resource")),
		workOutlived(document), serverClock(), prolongedKey(), ownerFlaws(document), may([]string{"failover"}, orphanedEntry(document, append(without(strandingFaults, "failover"), "client-pause"))),
	)
}

// ownerFlaws returns the flaws of a lock that counts an owner's entries and whose owner uses the
// same id for all its leases.
func ownerFlaws(document string) []Flaw {
	return flaws(
		under([]string{"delay"}, "late-command", Bug,
			"A release that arrives after its client gave up and entered anew finds the owner's own field and ends the next lease.",
			document+": the owner's id is the same for every lease", "exclusion", "resource"),
		serverLostKey(),
	)
}

// orphanedEntry is orphanedKey for a lock that counts entries.
func orphanedEntry(document string, faults []string) []Flaw {
	return under(faults, "orphaned-key", Limit,
		"A crashed holder's key keeps others out until it expires, and so does an entry that was counted twice (its reply was lost) or a release that never arrived.",
		document+": nothing tells a new entry from a repeated one", "liveness")
}

// ownerID returns an owner id, such as "c0:<32 hex digits>", for a Maker of a client process. All
// handles of the Maker belong to this one owner. (In a JVM, each thread is an owner.)
func ownerID(c *Client) (string, error) {
	token, err := c.Token()
	if err != nil {
		return "", err
	}
	return c.ID + ":" + token, nil
}

// hashEnter adds an entry and returns 1 if the lock is free or the owner's. Else it returns 0.
// KEYS[1] is the lock, ARGV[1] the owner, ARGV[2] the lease in seconds.
var hashEnter = newScript("hash-enter", `
if redis.call("EXISTS", KEYS[1]) == 0 or redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then
  redis.call("HINCRBY", KEYS[1], ARGV[1], 1)
  redis.call("EXPIRE", KEYS[1], ARGV[2])
  return 1
end
return 0`)

// hashLeave removes one entry. It returns nil if the owner has no entry, 0 if the owner still has
// entries, and 1 if this was the last entry and the lock is deleted.
// KEYS[1] is the lock, ARGV[1] the owner.
var hashLeave = newScript("hash-leave", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then
  return nil
end
if redis.call("HINCRBY", KEYS[1], ARGV[1], -1) == 0 then
  redis.call("DEL", KEYS[1])
  return 1
end
return 0`)

// TryLock implements Lock. The lease's token is the owner's id. LostC is nil: nothing reports the
// loss of the lock to the owner.
func (l *reentrantHash) TryLock(ctx context.Context) (Lease, error) {
	reply := hashEnter.Run(ctx, l.node(), []string{l.key}, l.owner, seconds(l.ttl))
	return Lease{Token: l.owner}, acquired(reply, l.key)
}

// Unlock implements Lock: it removes one entry.
func (l *reentrantHash) Unlock(ctx context.Context, _ Lease) error {
	_, err := l.leave(ctx)
	return err
}

// leave removes one entry and reports whether that freed the lock.
func (l *reentrantHash) leave(ctx context.Context) (last bool, err error) {
	freed, err := hashLeave.Run(ctx, l.node(), []string{l.key}, l.owner).Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return false, ErrNotHeld
	case err != nil:
		return false, fmt.Errorf("release %q: %w", l.key, err)
	}
	return freed == 1, nil
}
