package linear

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
)

// anyLock is the simplest form of a lock: the set of all holds.
type anyLock struct {
	held  []recording
	fence int64 // the greatest fence so far
}

// takes reports whether the operation may come next, and returns the lock after it.
func (n anyLock) takes(model string, op recording) (anyLock, bool) {
	same := func(h recording) bool {
		return (model == "mutex" || h.client == op.client) && (model != "read-write" || h.mode == op.mode)
	}
	if op.release {
		i := slices.IndexFunc(n.held, same)
		if i < 0 {
			return n, false
		}
		n.held = slices.Delete(slices.Clone(n.held), i, i+1)
		return n, true
	}
	mine := func(h recording) bool { return h.client == op.client }
	others := slices.ContainsFunc(n.held, func(h recording) bool {
		return !mine(h) && (model != "read-write" || h.mode != history.Read || op.mode != history.Read)
	})
	again := slices.ContainsFunc(n.held, mine)
	legal := false
	switch model {
	case "mutex", "owner-aware-mutex":
		legal = len(n.held) == 0
	case "fenced-mutex":
		legal = len(n.held) == 0 && op.fence > n.fence
	case "reentrant-mutex", "read-write":
		legal = !others
	case "reentrant-fenced-mutex":
		legal = !others && (op.fence > n.fence || again && op.fence == n.fence)
	case "semaphore:2":
		legal = len(n.held) < 2
	}
	n.held = append(slices.Clone(n.held), op)
	n.fence = max(n.fence, op.fence)
	return n, legal
}

// somehow reports whether some order is legal. It tries every order, and every fence that
// an acquire of unknown outcome may have got.
func somehow(model string, n anyLock, left []recording) bool {
	first, due := int(^uint(0)>>1), false
	for _, op := range left {
		if !op.perhaps {
			first, due = min(first, op.reply), true
		}
	}
	if !due {
		return true
	}
	for i, op := range left {
		if op.call > first {
			continue
		}
		rest := slices.Delete(slices.Clone(left), i, i+1)
		fences := []int64{op.fence}
		if op.fence == anyFence {
			fences = []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
		}
		for _, op.fence = range fences {
			if next, legal := n.takes(model, op); legal && somehow(model, next, rest) {
				return true
			}
		}
	}
	return false
}

// asked is an acquire or a release that a client has invoked.
type asked struct {
	recording
	op history.Op
}

// recorded draws a random history of a few clients and a lock that sometimes misbehaves.
func recorded(d *rapid.T, model string) []history.Op {
	const clients = 3
	var ops []history.Op
	var n anyLock
	process, open := []history.Process{0, 1, 2}, make([]*asked, clients)
	percent := func(label string) int { return rapid.IntRange(0, 99).Draw(d, label) }
	entries := rapid.IntRange(4, 16).Draw(d, "entries")
	for i := range entries {
		c := rapid.IntRange(0, clients-1).Draw(d, "client")
		op := history.Op{Index: i, Time: time.Duration(i), Process: process[c], Client: c, Lock: "L", Type: history.Invoke, F: history.FAcquire}
		if was := open[c]; was != nil {
			op.F, op.Mode = was.op.F, was.op.Mode
			if fence := n.fence + 1; !was.release {
				held := slices.ContainsFunc(n.held, func(h recording) bool { return h.client == c })
				if was.fence = fence; held && percent("own fence") < 60 || percent("stale") < 10 {
					was.fence = max(1, n.fence)
				}
			}
			next, legal := n.takes(model, was.recording)
			op.Type = []history.Type{history.OK, history.OK, history.OK, history.OK, history.Info, history.Fail}[percent("outcome")%6]
			if !legal && percent("errs") < 70 {
				op.Type = history.Fail
			}
			if legal && op.Type != history.Fail {
				n = next
			}
			if op.Type == history.OK && !was.release {
				op.Lease = &history.Lease{Fence: was.fence}
			}
			if open[c] = nil; op.Type == history.Info {
				process[c] += clients
			}
			ops = append(ops, op)
			continue
		}
		held := slices.ContainsFunc(n.held, func(h recording) bool { return h.client == c })
		if held != (percent("other") < 25) {
			op.F = history.FRelease
		}
		if op.Mode = history.Write; percent("read") < 50 {
			op.Mode = history.Read
		}
		open[c] = &asked{recording{client: c}, op}
		open[c].action = action{release: op.F == history.FRelease, mode: op.Mode}
		ops = append(ops, op)
	}
	return ops
}

// names lists the models that the tests here cover.
var names = []string{"mutex", "owner-aware-mutex", "reentrant-mutex", "fenced-mutex", "reentrant-fenced-mutex", "read-write", "semaphore:2"}

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

func TestPorcupineAndEveryOrderAgreeOnOperations(t *testing.T) {
	for _, model := range names {
		t.Run(model, func(t *testing.T) {
			seen := map[string]int{}
			rapid.Check(t, func(d *rapid.T) {
				for range perCheck {
					alike(d, model, recorded(d, model), seen)
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

// alike fails the test if Check and trying every order give different answers. It counts the
// answers in seen.
func alike(d *rapid.T, model string, ops []history.Op, seen map[string]int) {
	m, _ := ModelNamed(model)
	r := m.answered()
	given := operationsOf(d, ops)
	all := r.read(given)
	if !slices.ContainsFunc(all, func(op recording) bool { return !op.perhaps }) {
		return
	}
	answer := Check(context.Background(), m, map[string][]Operation{"L": given}, time.Minute)[0].Answer
	if legal := somehow(model, anyLock{}, all); legal != (answer == Legal) || legal == (answer == Illegal) {
		d.Fatalf("%s: every order says %v, porcupine %s\n%s", model, legal, answer, told(ops))
	}
	seen[string(answer)]++
	if slices.ContainsFunc(all, func(op recording) bool { return op.perhaps }) {
		seen["perhaps "+string(answer)]++
	}
	if answer == Illegal {
		minimal(d, model, r, all)
	}
}

// minimal checks that a conflict is minimal: its operations alone are illegal, and they become
// legal if any one of them is left out.
func minimal(d *rapid.T, model string, r spec, all []recording) {
	s := search{ctx: context.Background(), spec: r, first: []held{{}}, end: time.Now().Add(time.Minute)}
	c := s.conflict(all)
	if c.strict {
		model, all = "owner-aware-mutex", owning(all)
		s = s.strict(s.end)
	}
	needs := func(op recording) bool {
		return slices.ContainsFunc(c.ops, func(o recording) bool { return o.place == op.place })
	}
	ops, before := s.until(all, c.last.reply), []anyLock{{}}
	if len(c.first) > 1 {
		ops, _ = s.window(ops)
		before = append(before, heldByAny(model)...)
	}
	anyhow := func(ops []recording) bool {
		return slices.ContainsFunc(before, func(n anyLock) bool { return somehow(model, n, ops) })
	}
	for i := range ops {
		if !needs(ops[i]) {
			ops = s.spared(ops, i, i+1)
		}
	}
	if len(c.ops) == 0 || !needs(c.last) || anyhow(ops) {
		d.Fatalf("%s: %d operations are no conflict: %s", model, len(c.ops), c.words())
	}
	for i := range ops {
		if needs(ops[i]) && !anyhow(s.spared(ops, i, i+1)) {
			d.Fatalf("%s: %s is not needed in %s", model, ops[i], c.words())
		}
	}
}

// operationsOf converts the operations that did not fail.
func operationsOf(d *rapid.T, ops []history.Op) []Operation {
	pairs, err := history.Pairs(ops)
	if err != nil {
		d.Fatal(err)
	}
	var all []Operation
	for _, p := range pairs {
		op := Operation{
			Client: p.Invoke.Client, Release: p.Invoke.F == history.FRelease, Mode: p.Invoke.Mode, Fence: p.Lease().Fence,
			Call: p.Invoke.Index, Reply: -1, Perhaps: p.Done() != history.OK,
		}
		if !op.Perhaps {
			op.Reply = p.Complete.Index
		}
		if p.Done() != history.Fail {
			all = append(all, op)
		}
	}
	return all
}

// heldByAny returns locks that clients hold in every way that matters for a drawn history: reentrant
// locks up to eight deep, since a drawn history has at most 16 entries.
func heldByAny(model string) []anyLock {
	var all []anyLock
	for c := range 3 {
		held := recording{client: c}
		for n := 1; n == 1 || n < 9 && strings.HasPrefix(model, "reentrant"); n++ {
			all = append(all, anyLock{held: slices.Repeat([]recording{held}, n)})
		}
		if model == "semaphore:2" {
			all = append(all, anyLock{held: slices.Repeat([]recording{held}, 2)},
				anyLock{held: []recording{held, {client: (c + 1) % 3}}})
		}
	}
	if model == "read-write" {
		all = nil
		for own := range 1 << 6 { // bits 0 to 2 are readers, 3 to 5 writers
			var n anyLock
			writers := map[int]bool{}
			for o := range 6 {
				if own>>o&1 == 0 {
					continue
				}
				held := recording{client: o % 3}
				if held.mode = history.Read; o > 2 {
					held.mode, writers[o%3] = history.Write, true
				}
				n.held = append(n.held, held)
			}
			if len(writers) == 0 || len(writers) == 1 && !slices.ContainsFunc(n.held, func(h recording) bool { return !writers[h.client] }) {
				all = append(all, n)
			}
		}
	}
	return all
}

func (c clash) words() string {
	var words []string
	for _, op := range c.ops {
		words = append(words, op.String())
	}
	return strings.Join(words, ", ")
}

func told(ops []history.Op) string {
	var b strings.Builder
	for _, op := range ops {
		fmt.Fprintf(&b, "%d c%d %s %s %s", op.Index, op.Client, op.Type, op.F, op.Mode)
		if op.Lease != nil {
			fmt.Fprintf(&b, " fence %d", op.Lease.Fence)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
