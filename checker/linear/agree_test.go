package linear_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

type operation = linear.Operation

// names lists the models that the tests here cover.
var names = []string{"mutex", "owner-aware-mutex", "reentrant-mutex", "fenced-mutex", "reentrant-fenced-mutex", "read-write", "semaphore:2"}

// check decides one lock.
func check(ctx context.Context, model string, ops []operation, limit time.Duration) linear.Result {
	m, _ := linear.ModelNamed(model)
	return linear.Check(ctx, m, map[string][]operation{"L": ops}, limit)[0]
}

// anyLock is the simplest form of a lock: the set of all holds.
type anyLock struct {
	held  []operation
	fence int64 // the greatest fence so far
}

// takes reports whether the operation may come next, and returns the lock after it.
func (n anyLock) takes(model string, op operation) (anyLock, bool) {
	if op.Release {
		i := slices.IndexFunc(n.held, func(h operation) bool {
			return (model == "mutex" || h.Client == op.Client) && (model != "read-write" || h.Mode == op.Mode)
		})
		if i < 0 {
			return n, false
		}
		n.held = slices.Delete(slices.Clone(n.held), i, i+1)
		return n, true
	}
	mine := func(h operation) bool { return h.Client == op.Client }
	others := slices.ContainsFunc(n.held, func(h operation) bool {
		return !mine(h) && (model != "read-write" || h.Mode != history.Read || op.Mode != history.Read)
	})
	legal := false
	switch model {
	case "mutex", "owner-aware-mutex":
		legal = len(n.held) == 0
	case "fenced-mutex":
		legal = len(n.held) == 0 && op.Fence > n.fence
	case "reentrant-mutex", "read-write":
		legal = !others
	case "reentrant-fenced-mutex":
		legal = !others && (op.Fence > n.fence || slices.ContainsFunc(n.held, mine) && op.Fence == n.fence)
	case "semaphore:2":
		legal = len(n.held) < 2
	}
	n.held = append(slices.Clone(n.held), op)
	n.fence = max(n.fence, op.Fence)
	return n, legal
}

// String tells locks apart that allow different operations.
func (n anyLock) String() string {
	var held []string
	for _, h := range n.held {
		held = append(held, fmt.Sprint(h.Client, h.Mode))
	}
	slices.Sort(held)
	return fmt.Sprint(held, n.fence)
}

// somehow reports whether some order is legal. It tries every order, and every fence that
// an acquire of unknown outcome may have got. tried has the dead ends.
func somehow(model string, n anyLock, left []operation, tried map[string]bool) bool {
	first, due := int(^uint(0)>>1), false
	here := n.String()
	for _, op := range left {
		if here += fmt.Sprint(" ", op.Call); !op.Perhaps {
			first, due = min(first, op.Reply), true
		}
	}
	if !due || tried[here] {
		return !due
	}
	tried[here] = true
	for i, op := range left {
		if op.Call > first {
			continue
		}
		fences := []int64{op.Fence}
		if op.Perhaps && op.Fence == 0 {
			fences = []int64{max(1, n.fence), n.fence + 1}
		}
		for _, op.Fence = range fences {
			next, legal := n.takes(model, op)
			if legal && somehow(model, next, slices.Delete(slices.Clone(left), i, i+1), tried) {
				return true
			}
		}
	}
	return false
}

func possible(model string, n anyLock, ops []operation) bool {
	return somehow(model, n, ops, map[string]bool{})
}

// session is a client's process; it has at most one operation open.
type session struct {
	open, gone bool
	op         operation
}

// drawn draws a history of a few clients, perhaps with several processes each, and a lock that sometimes
// misbehaves. A client goes on after an operation of unknown outcome, or not.
func drawn(d *rapid.T, model string) []operation {
	percent := func(label string) int { return rapid.IntRange(0, 99).Draw(d, label) }
	processes := rapid.IntRange(1, 2).Draw(d, "processes")
	goesOn, unknown, lies := rapid.Bool().Draw(d, "goes on"), 30*rapid.IntRange(0, 1).Draw(d, "unknown"), rapid.IntRange(0, 1).Draw(d, "lies")*30
	var ops []operation
	var n anyLock
	sessions := make([]session, 3*processes)
	for place := range rapid.IntRange(4, 20).Draw(d, "entries") {
		who := rapid.IntRange(0, len(sessions)-1).Draw(d, "session")
		s, client := &sessions[who], who/processes
		own := slices.IndexFunc(n.held, func(h operation) bool { return h.Client == client })
		switch {
		case s.gone:
		case !s.open:
			s.open, s.op = true, operation{Client: client, Call: place, Release: own >= 0 != (percent("other") < 25)}
			if s.op.Mode = history.Write; percent("read") < 50 {
				s.op.Mode = history.Read
			}
			if s.op.Release && own >= 0 && percent("other mode") < 80 {
				s.op.Mode = n.held[own].Mode
			}
		default:
			s.open = false
			if s.op.Fence = n.fence + 1; s.op.Release {
				s.op.Fence = 0
			} else if own >= 0 && percent("own fence") < 60 || percent("stale") < 10 {
				s.op.Fence = max(1, n.fence)
			}
			next, legal := n.takes(model, s.op)
			if s.op.Reply = place; percent("unknown") < unknown {
				s.op.Perhaps, s.op.Reply, s.gone = true, -1, !goesOn
				if percent("fence unknown") < 70 {
					s.op.Fence = 0
				}
				if !legal || percent("lost") < 50 {
					next = n
				}
			} else if !legal && percent("errs") >= lies {
				continue // it failed
			}
			n = next
			ops = append(ops, s.op)
		}
	}
	slices.SortFunc(ops, func(a, b operation) int { return a.Call - b.Call })
	return ops
}

// perCheck is the number of histories that each of rapid's checks draws.
const perCheck = 20

// least returns the number of histories of each kind that all checks together must see.
// With -short it is smaller: rapid then runs a fifth of the checks, so that the number
// varies more.
func least() int {
	if testing.Short() {
		return perCheck / 4
	}
	return 2 * perCheck
}

// If the sweep and porcupine both answer, Check answers only if they agree.
func TestSweepPorcupineAndEveryOrderAgree(t *testing.T) {
	for _, model := range names {
		t.Run(model, func(t *testing.T) {
			seen := map[string]int{}
			rapid.Check(t, func(d *rapid.T) {
				for range perCheck {
					agrees(d, model, drawn(d, model), seen)
				}
			})
			for _, what := range []string{"Illegal", "Ok", "perhaps Illegal", "perhaps Ok"} {
				if seen[what] < least() {
					t.Errorf("only %d histories are %q: %v", seen[what], what, seen)
				}
			}
		})
	}
}

func agrees(d *rapid.T, model string, ops []operation, seen map[string]int) {
	got := check(context.Background(), model, ops, time.Minute)
	want := linear.Illegal
	if possible(model, anyLock{}, ops) {
		want = linear.Legal
	}
	if got.Answer != want || got.Alone {
		d.Fatalf("%s: every order says %s, Check says %+v\n%s", model, want, got, told(ops))
	}
	seen[string(want)]++
	if slices.ContainsFunc(ops, func(op operation) bool { return op.Perhaps }) {
		seen["perhaps "+string(want)]++
	}
	if got.Answer == linear.Illegal {
		minimal(d, model, got.Conflict, ops)
	}
}

// minimal checks a conflict: the history is legal before the last reply; with it, the operations of the
// conflict alone are illegal, and they become legal if any one of them is left out. This must be so in the whole
// history, or in the part from the first of them on, in whatever state the lock was.
func minimal(d *rapid.T, model string, c *linear.Conflict, ops []operation) {
	last := ops[c.Last].Reply
	if !possible(model, anyLock{}, until(ops, last-1)) || possible(model, anyLock{}, until(ops, last)) {
		d.Fatalf("%s: the reply at %d is not the first that makes the history illegal\n%s", model, last, told(ops))
	}
	if c.OwnersOnly {
		model = "owner-aware-mutex"
	}
	needed := func(op operation) bool {
		return slices.ContainsFunc(c.Operations, func(i int) bool { return ops[i].Call == op.Call })
	}
	var whole, part []operation
	for _, op := range until(ops, last) {
		if !needed(op) {
			op = perhaps(op)
		}
		whole = append(whole, op)
	}
	for i, op := range until(ops, last) {
		if i >= c.Operations[0] || op.Perhaps || op.Reply > ops[c.Operations[0]].Call {
			part = append(part, whole[i])
		}
	}
	conflicts := func(ops []operation, first []anyLock) bool {
		anyhow := func(ops []operation) bool {
			return slices.ContainsFunc(first, func(n anyLock) bool { return possible(model, n, ops) })
		}
		for i, op := range ops {
			spared := slices.Clone(ops)
			if spared[i] = perhaps(op); needed(op) && !anyhow(spared) {
				return false
			}
		}
		return !anyhow(ops)
	}
	if !c.Minimal || !conflicts(whole, []anyLock{{}}) && !conflicts(part, states(model, part)) {
		d.Fatalf("%s: %+v is no minimal conflict\n%s", model, c, told(ops))
	}
}

// states returns the locks that clients may hold before these operations, up to one more time than they release.
func states(model string, ops []operation) []anyLock {
	deep := 1
	for _, op := range ops {
		if op.Release {
			deep++
		}
	}
	all, seen := []anyLock{{}}, map[string]bool{}
	for i := 0; i < len(all); i++ {
		for c := range 3 {
			for _, mode := range []history.Mode{history.Read, history.Write} {
				next, legal := all[i].takes(strings.Replace(model, "fenced-", "", 1), operation{Client: c, Mode: mode})
				if key := next.String(); legal && len(next.held) <= deep && !seen[key] {
					all, seen[key] = append(all, next), true
				}
			}
		}
	}
	return all
}

// until returns the history up to and including the entry at the place last.
func until(ops []operation, last int) (kept []operation) {
	for _, op := range ops {
		if op.Call <= last {
			if op.Reply > last {
				op = perhaps(op)
			}
			kept = append(kept, op)
		}
	}
	return kept
}

func perhaps(op operation) operation {
	if !op.Perhaps {
		op.Perhaps, op.Reply, op.Fence = true, -1, 0
	}
	return op
}

func told(ops []operation) string {
	var b strings.Builder
	for i, op := range ops {
		fmt.Fprintf(&b, "%d: %+v\n", i, op)
	}
	return b.String()
}
