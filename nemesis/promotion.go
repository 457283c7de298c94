package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// This file holds the code shared by faults that promote a replica to primary.

// heirNode is the first replica: the one that faults promote.
const heirNode = "n1"

// clusterHeirNode is the replica that faults promote in a cluster. Its master has the slot of the
// first lock.
const clusterHeirNode = "n3"

// electing is an upper limit for most elections. The nodes need a second to consider the primary
// dead, and about another second to promote a replica.
const electing = 3 * time.Second

// elects reports whether Sentinels elect the world's primary.
func (w World) elects() bool { return w.Topology == testbed.Sentinel }

// unreplicated returns why a fault that needs a replica cannot strike; nil if it can.
func unreplicated(w World) *Unsupported {
	if w.Topology != testbed.Replicated && !w.elects() {
		return &Unsupported{Why: NoReplica, Topology: w.Topology}
	}
	return nil
}

// withReplicas is the Fault.Topologies of faults that need a replica: independent nodes have none.
func withReplicas(t locks.Topology) []testbed.Topology {
	if t != locks.Single && t != locks.Replicated {
		return nil
	}
	return []testbed.Topology{testbed.Replicated}
}

// primary returns the node that the action's heir will replace.
func (s *injection) primary() (string, error) {
	list, heir := s.env.(testbed.Nodes).List(), s.action.Nodes[0]
	if len(list) == testbed.Masters && heir == clusterHeirNode {
		list = list[:1] // the replica's master
	}
	if len(list) != 1 || list[0] == heir {
		return "", fmt.Errorf("promote %s: clients use %v, expected one other node", heir, list)
	}
	return list[0], nil
}

// differences returns the fates of the keys that only one of two snapshots has. The first snapshot
// shows the old primary. The second shows the new primary, which was promoted at the given time. n
// does not count keys that had expired.
func (s *injection) differences(before, after snapshot, promoted time.Duration) (n int, fates []history.KeyFate) {
	var expired []history.KeyFate
	old, heir := before.all(), after.all()
	fate := func(k history.KeyState, f history.Fate) history.KeyFate {
		return history.KeyFate{Node: s.action.Nodes[0], Key: history.Bytes(k.Key), Fate: f}
	}
	for _, k := range old {
		switch {
		case holds(heir, k):
		case before.expired(k, after):
			expired = append(expired, fate(k, history.FateExpired))
		default:
			fates = append(fates, fate(k, history.FateLost))
		}
	}
	cameBack := s.cameBack(before, promoted, after)
	for _, k := range heir {
		known := slices.ContainsFunc(old, func(o history.KeyState) bool { return o.Key == k.Key })
		if !known && cameBack(k) {
			fates = append(fates, fate(k, history.FateRevived))
		}
	}
	return len(fates), append(fates, expired...)
}

// replaced replaces the primary by the action's node, and returns the differences between their keys. The function
// replace returns when the new primary was promoted (differences).
func (s *injection) replaced(ctx context.Context, primary string, replace func() (promoted time.Duration, err error)) (n int, fates []history.KeyFate, err error) {
	before, err := s.snapshot(ctx, primary)
	if err != nil {
		return 0, nil, err
	}
	promoted, err := replace()
	if err != nil {
		return 0, nil, err
	}
	after, err := s.snapshot(ctx, s.action.Nodes[0])
	if err != nil {
		return 0, nil, err
	}
	n, fates = s.differences(before, after, promoted)
	return n, fates, nil
}

// Loss is the way in which a primary is lost where nodes elect its successor.
type Loss string

// Ways to lose a primary.
const (
	Killed Loss = ""        // the primary dies
	Frozen Loss = "frozen"  // the primary freezes, and resumes when another node is primary
	CutOff Loss = "cut-off" // nobody reaches the primary until another node is primary
	// Outvoted: the primary is cut off from the other servers, but not from the clients. It dies
	// after the election, and only then do the clients hear of the new primary. The clients' writes
	// to the old primary since the election are lost, however long the election took.
	Outvoted Loss = "outvoted"
	// Forced: an operator promotes a replica of a cluster while its master is alive (CLUSTER
	// FAILOVER FORCE). The master hears of the election and steps down.
	Forced Loss = "forced"
)

// outvote cuts the primary off from all other servers and holds back the news of the election from
// the clients. The heal waits for the election, kills the old primary and then delivers the news.
func (s *injection) outvote(ctx context.Context) (heal, error) {
	primary, err := s.primary()
	if err != nil {
		return nil, err
	}
	heir := s.action.Nodes[0]
	cuts, err := disturb(ctx, s.env, serversOf(primary), testbed.Network.Cut)
	if err != nil {
		return nil, fmt.Errorf("outvote %s: %w", primary, err)
	}
	news, err := disturb(ctx, s.env, s.news(), testbed.Network.Hold)
	if err != nil {
		return nil, fmt.Errorf("outvote %s: %w", primary, errors.Join(err, takeBackAll(ctx, cuts)))
	}
	return func(ctx context.Context) (result, error) {
		r := result{impact: s.lasted()}
		held, release, err := s.electionHeld(ctx)
		defer release()
		if err == nil {
			r.hits, r.impact.Keys, err = s.replaced(ctx, primary, func() (time.Duration, error) {
				return -1, s.kill(ctx, primary, func() {}) // -1: clients were served, so keys there may be new
			})
		}
		_, uerr := undoAll(ctx, append(news, cuts...))
		if held != nil {
			began := s.env.Now()
			s.otherHolder(ctx, held.Point.Client)
			s.meant = s.env.Now() - began
			if held != s.ended { // letGo records the stall of the client at Until
				uerr = errors.Join(uerr, s.stalled(*held))
			}
		}
		r.impact.Handover = &history.Handover{From: primary, To: heir, How: history.PrimaryOutvoted, Told: s.env.Now()}
		return r, errors.Join(err, uerr)
	}, nil
}

// soon is the longest time that a client is held for an election that is not over yet. A stall of
// more than TTL/10 would spoil the trial (see checker.Stalled).
const soon = 50 * time.Millisecond

// electionHeld waits for the election. If that takes no longer than the constant soon, held is the
// client that Run holds at Until; nil if none reached Until. Otherwise electionHeld lets that client
// go, because its lease could end meanwhile. After the election it holds the next client that
// reaches Until; held is nil if none comes in time. The caller must call release, which lets this
// next client go.
func (s *injection) electionHeld(ctx context.Context) (held *testbed.Hit, release func(), err error) {
	nodes, heir, a := s.env.(testbed.Nodes), s.action.Nodes[0], s.action
	hasty, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	if nodes.Promote(hasty, heir) == nil {
		return s.ended, func() {}, nil
	}
	s.letGo()
	if err := nodes.Promote(ctx, heir); err != nil {
		return nil, func() {}, err
	}
	until := holdAt(s.env, *a.Until, s.client, a.ID)
	patience := time.NewTimer(a.Limit - a.For)
	defer patience.Stop()
	select {
	case h := <-until.reached:
		held = &h
	case <-patience.C:
	case <-ctx.Done():
	}
	return held, until.release, nil
}

// otherHolder waits until a client other than held has the lock too, but at most for a fraction of a
// lease. Clients need some milliseconds to hear of a new primary and to connect to it. On a busy
// machine that may take as long as a critical section.
func (s *injection) otherHolder(ctx context.Context, held int) {
	a := s.action
	w := await(s.env, Trigger{Clients: a.Others, Who: Other, Step: testbed.StepHold}, held, a.ID, func(testbed.Hit) {})
	defer w.stop()
	patience := time.NewTimer((a.Limit - a.For) / 4)
	defer patience.Stop()
	select {
	case <-w.hit:
	case <-patience.C:
	case <-ctx.Done():
	}
}

// provoke causes the loss of the primary and waits until another primary is elected. The client at
// Until goes on meanwhile, unless the election is forced.
func (s *injection) provoke(ctx context.Context) (result, error) {
	heir := s.action.Nodes[0]
	primary, err := s.primary()
	if err != nil {
		return result{}, err
	}
	i := s.lasted()
	i.Handover = &history.Handover{From: primary, To: heir}
	var restore []testbed.Undo
	n, keys, err := s.replaced(ctx, primary, func() (time.Duration, error) {
		undos, how, err := s.lose(ctx, primary)
		if err != nil {
			return 0, err
		}
		restore, i.Handover.How = undos, how
		if s.action.Loss != Forced { // a forced election takes no time
			s.letGo()
		}
		err = s.env.(testbed.Nodes).Promote(ctx, heir)
		i.Handover.At = s.env.Now()
		return i.Handover.At, err
	})
	_, uerr := undoAll(ctx, restore)
	if err != nil {
		return result{}, errors.Join(err, uerr)
	}
	i.Keys = keys
	return result{n, i}, uerr
}

// lose causes the loss of the primary. It returns the undos that bring the old primary back (none if
// it is dead or if the election is forced), and the kind of loss.
func (s *injection) lose(ctx context.Context, primary string) (restore []testbed.Undo, how history.PrimaryLoss, err error) {
	switch s.action.Loss {
	case Forced:
		return nil, history.PrimaryForced, nil
	case Frozen:
		undo, err := s.env.(testbed.Nodes).Pause(ctx, primary)
		return []testbed.Undo{undo}, history.PrimaryFrozen, err
	case CutOff:
		links := serversOf(primary)
		for _, c := range s.action.Others {
			links = append(links, testbed.Link{From: clientName(c), To: primary})
		}
		restore, err = disturb(ctx, s.env, links, testbed.Network.Cut)
		return restore, history.PrimaryCutOff, err
	}
	return nil, history.PrimaryKilled, s.kill(ctx, primary, func() {})
}

// serversOf returns the links to a node from the other nodes and from the Sentinels.
func serversOf(node string) []testbed.Link {
	var links []testbed.Link
	for i := range 1 + testbed.Replicas {
		if from := fmt.Sprintf("n%d", i); from != node {
			links = append(links, testbed.Link{From: from, To: node})
		}
	}
	for i := range testbed.Sentinels {
		links = append(links, testbed.Link{From: fmt.Sprintf("s%d", i), To: node})
	}
	return links
}

// news returns the links to Sentinels, over which the action's clients hear of elections.
func (s *injection) news() []testbed.Link {
	var links []testbed.Link
	for _, c := range s.action.Others {
		for i := range testbed.Sentinels {
			links = append(links, testbed.Link{From: clientName(c), To: fmt.Sprintf("s%d", i)})
		}
	}
	return links
}

// disturb applies do to all links, in both directions. If do fails on a link, disturb undoes do on
// the earlier links.
func disturb(ctx context.Context, env testbed.Env, links []testbed.Link,
	do func(testbed.Network, context.Context, testbed.Link, testbed.Direction) (testbed.Undo, error)) ([]testbed.Undo, error) {
	return doAll(ctx, links, func(l testbed.Link) (testbed.Undo, error) {
		undo, err := do(env.(testbed.Network), ctx, l, testbed.Both)
		if err != nil {
			err = fmt.Errorf("%s–%s: %w", l.From, l.To, err)
		}
		return undo, err
	})
}
