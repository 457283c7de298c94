package locks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// getset is D1's first Java version. The key holds the end of the holder's lease by the holder's
// clock, plus a second. A client that finds a past time there writes its own time with GETSET. The
// client has won if GETSET returns the time that the client found before. The key also expires,
// unless EXPIRE is lost.
//
// The client reads its clock once, before the first command. So a client that is frozen just after
// the reading writes a time that has passed, and another client takes the lock over at once. The
// clients' clocks must agree to within the extra second. If two clients read the same expired time,
// the loser's GETSET overwrites the winner's time and clears the key's expiry. The bare DEL does not
// check the owner.
//
// If EXPIRE fails, the outcome is unknown, because the key holds the client's time. Unlock returns
// ErrNotHeld if DEL replies 0.
type getset struct {
	polling
	plainDel
}

// getsetMargin is D1's allowance for clocks that disagree; the stored time includes it.
const getsetMargin = time.Second

func init() {
	Register(Recipe{
		ID:       "getset",
		Document: "D1",
		Summary:  "SETNX key <now + TTL + 1 s>, EXPIRE; busy: GET; in the past: GETSET; unchanged: EXPIRE · DEL key",
		Topology: Single,
		Claims: claims("getset", func(ttl time.Duration) time.Duration { return wholeSeconds(ttl) + getsetMargin },
			history.Claims{ClientClock: true}),
		Flaws: flaws(getsetFlaws, bareDelete("D1, first version"), leaseOutlived(), workOutlived("D1"), serverClock(), serverLostKey(), may([]string{"client-skew"}, orphanedKey()), staleTime("D1, first version")),
		New:   onOneNode(func(h handle) (Lock, error) { return &getset{plainDel: plainDel{h}}, nil }),
	})
}

var getsetFlaws = flaws(
	may([]string{"delay", "node-pause"}, under([]string{"client-skew", "client-pause"}, "client-clock", Bug,
		"A rival whose clock is more than a second ahead, or a time that was read too long before it arrived, ends a lease early; Redis could have counted the time.",
		"D1, first version: clients' clocks must agree", "exclusion", "resource", "ownership")),
	may(append([]string{"client-pause", "client-skew"}, strandingFaults...), under([]string{"node-pause"}, "race", Bug,
		"If two clients read the same expired time, the second client's GETSET replaces the first client's time with its own, although the second client does not get the lock: the time in the key is not the holder's.",
		"D1, first version", "ownership")),
	// Many faults show this flaw only by chance: a late EXPIRE that runs in the same millisecond as
	// the next holder's own EXPIRE does not change the key's remaining TTL.
	may(append([]string{"client-skew", "node-clock"}, strandingFaults...), under([]string{"client-pause", "node-restart", "eviction"}, "foreign-renewal", Bug,
		"EXPIRE does not compare the owner: if a client pauses after its winning SETNX or GETSET, its EXPIRE sets the TTL of another client's key. And if two clients read the same expired time, the second client's GETSET removes the TTL that the first client's EXPIRE set.",
		"D1, first version", "ownership")),
	// The time in the key is a lease and a second ahead. With a lease of 1 s, only a pause of two
	// leases outlasts it; lockstorm run --sweep tries such pauses.
	may([]string{"client-pause"}, under(nil, "lease-outlived", Limit,
		"If a holder is frozen before its EXPIRE until the time in its key is past, the next client's GETSET overwrites it, since the lease is over.",
		"D1, first version", "ownership")),
	foreignDelete("A client that lost its lock to another because of a wrong clock removes the new holder's lock by its bare DEL.",
		"D1, first version; "+redisOwner, "client-skew"),
)

// TryLock implements Lock. The lease has no token: the key holds a time, and another client may
// write the same time. TryLock returns an error if the key's value is not a time.
func (l *getset) TryLock(ctx context.Context) (Lease, error) {
	now := l.client.Now().UnixMilli()
	until := encodeMillis(now + (wholeSeconds(l.ttl) + getsetMargin).Milliseconds())
	err := setnx(ctx, l.node(), l.key, until)
	if errors.Is(err, ErrBusy) {
		err = l.takeOver(ctx, now, until)
	}
	if err != nil {
		return Lease{}, err
	}
	return Lease{}, expire(ctx, l.node(), l.key, l.ttl)
}

// takeOver takes the lock over if the time in the key is before now: GETSET writes the argument
// until there. If GETSET does not return the time that takeOver found before, takeOver returns ErrBusy.
func (l *getset) takeOver(ctx context.Context, now int64, until string) error {
	found, err := l.node().Do(ctx, "GET", l.key).Text()
	if errors.Is(err, redis.Nil) { // released or expired since our SETNX
		return ErrBusy
	}
	if err != nil {
		return fmt.Errorf("read until when %q is held: %w", l.key, err)
	}
	held, err := decodeMillis(found)
	if err != nil {
		return fmt.Errorf("read until when %q is held: %w", l.key, err)
	}
	if held >= now {
		return ErrBusy
	}
	replaced, err := l.node().Do(ctx, "GETSET", l.key, until).Text()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("take over %q: %w", l.key, err)
	}
	if err != nil || replaced != found { // the key was gone or changed; it keeps our time
		return ErrBusy
	}
	return nil
}

// encodeMillis encodes milliseconds since 1970 as D1 stores them: 8 bytes, big-endian.
func encodeMillis(ms int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(ms)))
}

func decodeMillis(value string) (int64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("value has %d bytes instead of 8", len(value))
	}
	return int64(binary.BigEndian.Uint64([]byte(value))), nil
}
