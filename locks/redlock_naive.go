package locks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// redlockNaive is D0's "red lock": ask all nodes at once, wait for all of them, hold the lock if a
// majority granted it. There are three flaws. First, nodes have no time limit, so a node that hangs
// delays everybody. Second, there is no validity time, so a grant may have expired before the
// client knows of it. Third, each grant has a watchdog, which starts before the quorum is known.
// The field for the stop channel is shared, and each new watchdog overwrites it. So the watchdogs of
// failed or released attempts go on renewing, without checking the key's owner.
//
// A client uses one object for all acquisitions of a key.
//
// A release always succeeds: it does not wait for its results. A second release in a row panics.
type redlockNaive struct {
	handle

	mu   sync.Mutex
	held []Node        // the nodes of the latest quorum; a release does not clear them
	stop chan struct{} // the latest watchdog's channel
}

func init() {
	Register(Recipe{
		ID:       "redlock-naive",
		Document: "D0",
		Summary:  "SET key token NX PX ms on all nodes at once, held by N/2+1 · Lua: compare and delete, not awaited · a watchdog per grant: every TTL/3 EXPIRE key s on all nodes",
		Topology: Independent,
		// The renewal's whole seconds outlast the grant's milliseconds.
		Claims:    claims("redlock-naive", wholeSeconds, history.Claims{Quorum: majority, Renews: true}, compareAndDelete),
		Flaws:     redlockNaiveFlaws,
		Unrenewed: "redlock",
		New:       onOneNode(func(h handle) (Lock, error) { return &redlockNaive{handle: h}, nil }),
	})
}

var redlockNaiveFlaws = flaws(
	rarely("ownership", "foreign-renewal", []string{"hung-work"}, under(without(anyFault, "failover", "split-brain", slotMigration), "foreign-renewal", Bug,
		"Watchdogs outlive the attempt or the lease that started them, and their plain EXPIRE prolongs whatever lock is there by then.",
		"D0, red lock: a watchdog per node, one stop channel", "ownership")),
	// The watchdogs of all clients renew the key on all nodes. So under any fault the key may outlive
	// its lease by chance: it keeps waiting clients out, or protects a holder that overran the lease.
	may(anyFault,
		under([]string{"client-crash", "lost-reply", "partition", "partition-requests"}, "foreign-renewal", Bug,
			"Nothing stops the watchdogs of failed attempts: they pile up, and keep alive for ever the keys of crashed holders and keys whose release was lost.",
			"D0, red lock: a watchdog per node, started before the quorum is known", "liveness"),
		under([]string{"node-pause"}, "orphaned-key", Bug,
			"One node that hangs, or that the watchdogs' many renewals slow down, delays every attempt: the attempt's keys on the other nodes keep everybody out although a majority has answered.",
			"D0, red lock: it waits for all nodes and gives none a time limit", "liveness"),
		under([]string{"client-pause"}, "lease-outlived", Bug,
			"There is no validity time: an attempt that waits for one slow node, or whose client is frozen, counts as granted although the keys have expired meanwhile.",
			`D0, red lock; redis.io, "Distributed Locks with Redis": the elapsed time must be less than the validity time`, "exclusion", "resource"),
		under([]string{mixed}, "renewal-failed", Limit, "Watchdogs that reach no majority for a whole lease lose it under the holder.",
			"D0, red lock", "exclusion", "resource"),
	),
	// Other faults show this flaw only if, by chance, they lose the replies of a majority.
	may(append([]string{"client-pause"}, without(strandingFaults, "client-crash", "failover", "split-brain")...),
		under([]string{"lost-reply", "partition-replies"}, "false-answer", Bug,
			"An error counts as a refusal, and only nodes that answered yes are cleaned up: an attempt whose replies are lost is told that the lock is busy, while its own keys stand on a majority and keep everybody out.",
			"D0, red lock: an attempt without a majority gives back what it got", "conduct")),
	hungHolder("D0, red lock: the watchdogs"),
	quorumLostKey("node-restart", "eviction"), serverClock(), prolongedKey(),
)

// TryLock implements Lock. LostC is nil: the watchdogs ignore replies.
func (l *redlockNaive) TryLock(ctx context.Context) (Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	lease := Lease{Token: token}
	granted := l.askAll(ctx, token)
	if len(granted) < len(l.client.Nodes)/2+1 {
		for _, node := range granted {
			go l.cleanUp(node, token)
		}
		return lease, fmt.Errorf("%w: %d of %d nodes granted it", ErrBusy, len(granted), len(l.client.Nodes))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = granted
	return lease, nil
}

// askAll asks all nodes at once and waits for all replies. Each grant starts its watchdog at once.
// An error counts as a refusal.
func (l *redlockNaive) askAll(ctx context.Context, token string) (granted []Node) {
	var (
		wg      sync.WaitGroup
		answers = make([]error, len(l.client.Nodes))
	)
	for i, node := range l.client.Nodes {
		wg.Go(func() {
			answers[i] = setIfAbsent(ctx, node, l.key, token, "NX", "PX", milliseconds(l.ttl))
			if answers[i] == nil {
				go l.watch()
			}
		})
	}
	wg.Wait()
	for i, node := range l.client.Nodes {
		if answers[i] == nil {
			granted = append(granted, node)
		}
	}
	return granted
}

// cleanUp takes back one grant of a failed attempt. Only the nodes that answered yes are cleaned
// up. So a request in flight may still set the key on another node afterwards.
func (l *redlockNaive) cleanUp(node Node, token string) {
	ctx, cancel := context.WithTimeout(l.client.Context, l.ttl)
	defer cancel()
	_ = releaseOwned(ctx, node, l.key, token)
}

// watch is one watchdog. It overwrites l.stop, the shared stop channel. At the start of each round
// it reads l.stop, and during the round it waits on the channel that it has read. So it misses a
// release that closes the channel of a watchdog that began during the round.
func (l *redlockNaive) watch() {
	l.mu.Lock()
	l.stop = make(chan struct{})
	l.mu.Unlock()
	ticker := time.NewTicker(l.ttl / 3)
	defer ticker.Stop()
	for {
		l.mu.Lock()
		stop := l.stop
		l.mu.Unlock()
		if !ticked(l.client.Context, ticker.C, stop, evenOdds(l.client.Rand)) {
			return
		}
		l.mu.Lock()
		held := l.held
		l.mu.Unlock()
		for _, node := range held {
			go l.renew(node)
		}
	}
}

// renew prolongs the key on one node, even if another client owns the key by now. It ignores
// errors.
func (l *redlockNaive) renew(node Node) {
	ctx, cancel := context.WithTimeout(l.client.Context, 2*l.ttl/3)
	defer cancel()
	_ = expire(ctx, node, l.key, l.ttl)
}

// Unlock implements Lock. It waits for nothing and always succeeds. The releases run on the
// caller's context and are lost if that context ends. Unlock stops the latest watchdog. The other
// watchdogs stop in their next round, unless an attempt has made a new channel by then. Unlock
// panics if no watchdog has started since the last release, because the channel is already closed.
func (l *redlockNaive) Unlock(ctx context.Context, lease Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, node := range l.held {
		go func() { _ = releaseOwned(ctx, node, l.key, lease.Token) }()
	}
	close(l.stop)
	return nil
}
