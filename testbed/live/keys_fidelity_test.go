package live_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/process"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// differences are the only permitted differences between the tap's key changes and the
// simulation's. In these texts, "here" means real servers, and "there" means the simulation.
var differences = map[string]string{
	"nothing":   "SETRANGE of an empty text lengthens a value there; it is left out here",
	"instants":  "a value that is an instant of the client's clock differs, as the clocks of the two trials do",
	"renewals":  "a life that is renewed at once ends where it did if that was in one millisecond",
	"one look":  "lives that end in one millisecond are told by name here, and by their ends there",
	"Expires":   "an end of a life that is counted from a command is known here as well as the command's own time",
	"unordered": "changes on different nodes have one order there, and none here",
}

// within is a tolerance: how far a key's expiry on a real server may lie outside the expected
// bounds, which are the bounds of the command's time plus the TTL.
const within = 2 * time.Millisecond

// trial is a setup and a body that runs on both testbeds.
type trial struct {
	setup testbed.Setup
	body  func(context.Context, testbed.Env) error
	// instants: some values are instants of the client's clock.
	instants bool
}

// plays bounds how often a trial is played on real servers. The machine can stall for longer than a key lives, or
// between a command and the server's reading of its clock; a difference that is real shows each time.
const plays = 3

// compare runs the trial on real servers and in the simulation, and checks that the changes of keys are
// equal, except for differences.
func compare(t *testing.T, tr trial) {
	t.Helper()
	real, err := process.New(process.Options{Temp: redistest.Memory(t)})
	if err != nil {
		t.Fatal("nothing to compare the simulation with: ", err)
	}
	want := play(t, sim.New(), tr)
	var unlike []string
	for range plays {
		if unlike = unlikeNodes(tr, play(t, real, tr), want); len(unlike) == 0 {
			return
		}
		t.Logf("played again, because of %s", strings.Join(unlike, "\n"))
	}
	t.Error(strings.Join(unlike, "\n"))
}

// unlikeNodes says on which nodes, and in what, changes on real servers differ from those of the simulation.
func unlikeNodes(tr trial, got, want map[string][]history.KeyChange) (unlike []string) {
	for node := range want {
		if _, ok := got[node]; !ok && len(want[node]) > 0 {
			unlike = append(unlike, fmt.Sprintf("%s: got no changes, want %d", node, len(want[node])))
		}
	}
	for node := range got { // on real servers, changes on different nodes have no order
		unlike = append(unlike, unlikeChanges(tr, got[node], want[node])...)
	}
	slices.Sort(unlike)
	return unlike
}

// unlikeChanges says in what the changes on a real node differ from those on its simulated counterpart.
func unlikeChanges(tr trial, got, want []history.KeyChange) (unlike []string) {
	got, want = unrenewed(slices.Clone(got)), unrenewed(slices.Clone(want))
	sortEnds(got)
	sortEnds(want)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || line(tr, got[i]) != line(tr, want[i]) {
			return append(unlike, fmt.Sprintf("change %d differs:\nreal\n%s\nsimulated\n%s", i, lines(tr, got, i), lines(tr, want, i)))
		}
		if !sameEnd(got[i], want[i]) {
			unlike = append(unlike, fmt.Sprintf("%s: its life ends at %v here, by a change from %v to %v, and at %v there, by one at %v",
				line(tr, got[i]), got[i].After.Expires, got[i].From, got[i].To, want[i].After.Expires, want[i].To))
		}
	}
	return unlike
}

// unrenewed removes renewals that move a key's expiry by less than absolute.
func unrenewed(changes []history.KeyChange) []history.KeyChange {
	return slices.DeleteFunc(changes, func(c history.KeyChange) bool {
		return c.By == history.ByCommand && c.Before.SameValue(c.After) && c.Before.Expires > 0 && c.After.Expires > 0 &&
			(c.After.Expires-c.Before.Expires).Abs() < absolute
	})
}

// sameEnd reports whether the key expires equally long after the change in got as in want.
func sameEnd(got, want history.KeyChange) bool {
	if got.After == nil || got.After.Expires == 0 || got.By != history.ByCommand || want.After.Same(want.Before) {
		return true
	}
	if got.Before != nil && got.Before.Expires == got.After.Expires {
		// The real renewal came so soon that the expiry stayed the same.
		return (want.Before.Expires - want.After.Expires).Abs() < absolute
	}
	life := want.After.Expires - want.To
	if life < 0 {
		return true // the clock was set
	}
	// The node's lead over the history's clock is known to half the length of a look, and this change has
	// a look between its bounds.
	inaccuracy := within + (got.To-got.From)/2
	return got.After.Expires >= got.From+life-inaccuracy-absolute && got.After.Expires <= got.To+life+inaccuracy
}

// absolute bounds the time between computing an absolute expiry and the command that sets this
// expiry, on a busy machine.
const absolute = 200 * time.Millisecond

// sortEnds sorts successive expiries by key: one snapshot shows several expiries without their
// order.
func sortEnds(changes []history.KeyChange) {
	for i := 0; i < len(changes); i++ {
		j := i
		for j < len(changes) && changes[j].By == history.ByExpiry {
			j++
		}
		slices.SortFunc(changes[i:j], func(a, b history.KeyChange) int { return strings.Compare(string(a.Key), string(b.Key)) })
		i = max(i, j-1)
	}
}

func lines(tr trial, changes []history.KeyChange, at int) string {
	var all []string
	for i := max(0, at-5); i < min(len(changes), at+5); i++ {
		mark := "  "
		if i == at {
			mark = "> "
		}
		all = append(all, mark+line(tr, changes[i]))
	}
	return strings.Join(all, "\n")
}

// line returns a change in words, without times.
func line(tr trial, c history.KeyChange) string {
	if !tr.instants {
		return testbedtest.Line(c)
	}
	for _, content := range []**history.KeyContent{&c.Before, &c.After} {
		if k := *content; k != nil && len(k.Value) == 8 {
			instant := *k
			instant.Value = "(an instant)"
			*content = &instant
		}
	}
	return instant.ReplaceAllString(testbedtest.Line(c), "(an instant)")
}

// instant matches a wall clock's milliseconds in decimal. Values of eight bytes are instants, too.
var instant = regexp.MustCompile(`\d{12,13}`)

// play runs the trial and returns the changes of each node's keys.
func play(t *testing.T, tb testbed.Testbed, tr trial) map[string][]history.KeyChange {
	t.Helper()
	changes := map[string][]history.KeyChange{}
	var mu sync.Mutex
	s := tr.setup
	s.Seed, s.Clients, s.CommandTimeout, s.Clock = 1, 2, time.Minute, tb.Clock()
	s.Commands = func(history.Command) {}
	s.Keys = func(c history.KeyChange) {
		mu.Lock()
		defer mu.Unlock()
		changes[c.Node] = append(changes[c.Node], c)
	}
	if err := tb.Run(t.Context(), s, tr.body); err != nil {
		t.Fatalf("on testbed %s: %v", tb.Name(), err)
	}
	return changes
}

// TestTheTapSeesWhatRecipesDo compares the key changes of all recipes' commands and scripts,
// for a client that gets the lock and one that is refused.
func TestTheTapSeesWhatRecipesDo(t *testing.T) {
	for _, r := range locks.All() {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			compare(t, trial{setup: testbed.Setup{Topology: testbed.Topology(r.Topology), Nodes: 3}, instants: true, body: func(ctx context.Context, e testbed.Env) error {
				return use(ctx, e, r)
			}})
		})
	}
}

// handles returns two clients' handles on the lock.
func handles(e testbed.Env, r locks.Recipe) (all []locks.Lock, err error) {
	for i := range 2 {
		make, err := r.New(e.Client(i).Locks())
		if err != nil {
			return nil, err
		}
		l, err := make("lock-0", time.Minute)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// settled is how long to wait for commands that a recipe left under way. A quorum recipe does not
// wait for all replies, and these take time on a busy machine.
func settled(r locks.Recipe) time.Duration {
	if r.Topology == locks.Independent {
		return 200 * time.Millisecond
	}
	return 20 * time.Millisecond
}

// use acquires the lock, lets another client try in vain, and releases it. A recipe whose
// second release panics gets fresh handles for each turn. If a recipe never grants the lock,
// its failed acquire leaves a key that keeps the other client out; use removes the key.
func use(ctx context.Context, e testbed.Env, r locks.Recipe) error {
	_, panics := r.Declares("conduct", "panic", "none")
	_, never := r.Declares("liveness", "no-expiry", "none")
	all, err := handles(e, r)
	if err != nil {
		return err
	}
	for turn := range 2 {
		if turn > 0 && panics {
			if all, err = handles(e, r); err != nil {
				return err
			}
		}
		for i, l := range all {
			lease, err := l.TryLock(ctx)
			var answered redis.Error
			if granted := err == nil; granted == never || !granted && !errors.As(err, &answered) {
				return fmt.Errorf("c%d: got %v, want a grant: %t, or else an error of Redis", i, err, !never)
			}
			time.Sleep(settled(r)) // by then, the last node of a quorum has answered
			_, busy := all[1-i].TryLock(ctx)
			if busy == nil {
				return fmt.Errorf("c%d got the lock of c%d", 1-i, i)
			}
			if never && !errors.Is(busy, locks.ErrBusy) {
				return fmt.Errorf("c%d found no key that c%d left: %w", 1-i, i, busy)
			}
			time.Sleep(settled(r))
			if x, ok := l.(locks.Extender); ok {
				time.Sleep(2 * absolute) // so that unrenewed does not remove the renewal that follows
				if _, err := x.Extend(ctx, lease); err != nil {
					return fmt.Errorf("c%d: extend: %w", i, err)
				}
			}
			if err := l.Unlock(ctx, lease); err != nil {
				return fmt.Errorf("c%d: unlock: %w", i, err)
			}
			time.Sleep(settled(r))
		}
	}
	return nil
}
