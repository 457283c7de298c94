package shrink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// demand says what a made-up trial needs to show its flaw.
type demand struct {
	ideas    []string // ideas of actions that the plan must have
	clients  int
	sections int // number of sections of all clients together
	duration time.Duration
	lasting  time.Duration // some action must last this long
	link     bool          // the plan must strike a link
	depth    int
}

func (d demand) met(s trial.Spec) bool {
	sections, depth := 0, 0
	for _, list := range s.Options.Script {
		sections += len(list)
		for _, x := range list {
			depth = max(depth, x.Depth)
		}
	}
	if len(s.Options.Script) == 0 { // without a script, the number of sections is unlimited
		sections, depth = d.sections, d.depth
	}
	var ideas []string
	lasting, links := time.Duration(0), 0
	for _, a := range s.Plan {
		ideas = append(ideas, a.Idea)
		lasting, links = max(lasting, a.For, a.Limit), links+len(a.Links)
	}
	for _, want := range d.ideas {
		if !slices.Contains(ideas, want) {
			return false
		}
	}
	return s.Options.Clients >= d.clients && sections >= d.sections && depth >= d.depth &&
		s.Options.Duration >= d.duration && lasting >= d.lasting && (links > 0 || !d.link)
}

// madeUp returns a random trial, whose plan may have any kind of action, and the demand for its
// flaw.
func madeUp(seed uint64) (trial.Spec, demand) {
	r := rand.New(rand.NewPCG(seed, 7))
	clients := 2 + r.IntN(3)
	s := trial.Spec{Lock: "redlock", Workload: "mutex", Fault: "chaos", Testbed: "sim", Topology: testbed.Independent, Nodes: 5, Seed: seed}
	s.Options = workloads.Options{
		TTL: time.Second, Hold: 100 * time.Millisecond, Rest: 50 * time.Millisecond,
		Retry: 25 * time.Millisecond, Margin: 500 * time.Millisecond,
	}
	s.Options.Clients, s.Options.Keys, s.Options.Seed, s.Options.Duration = clients, 1+r.IntN(2), seed, time.Duration(1+r.IntN(40))*123*time.Millisecond
	everyone := make([]int, clients)
	for c := range everyone {
		everyone[c] = c
	}
	var d demand
	for i := range 1 + r.IntN(6) {
		a := nemesis.Action{ID: i + 1, Fault: "partition", Idea: fmt.Sprint("idea ", i), By: s.Options.Duration, Client: r.IntN(clients), Direction: testbed.Both}
		if i > 0 && r.IntN(2) == 0 {
			a.After, a.Delay = 1+r.IntN(i), time.Duration(r.IntN(1000))*time.Microsecond
		}
		switch r.IntN(3) {
		case 0:
			for c := range clients {
				a.Links = append(a.Links, testbed.Link{From: clientID(c), To: nodeID(r.IntN(5))})
			}
		case 1:
			a.Point = &nemesis.Trigger{Clients: slices.Clone(everyone), Step: testbed.StepHold, Skip: r.IntN(4)}
			a.Until = &nemesis.Trigger{Clients: slices.Clone(everyone), Step: testbed.StepTouch, Who: nemesis.Other}
			a.Limit = time.Duration(r.IntN(3_000_000)) * time.Microsecond
		default:
			a.Nodes, a.Others = []string{"n0", "n1", "n2"}, slices.Clone(everyone)
		}
		a.For = time.Duration(r.IntN(2_000_000)) * time.Microsecond
		if r.IntN(3) == 0 {
			d.ideas = append(d.ideas, a.Idea)
		}
		s.Plan = append(s.Plan, a)
	}
	d.clients, d.sections, d.duration = 1+r.IntN(clients), r.IntN(5), time.Duration(r.IntN(int(s.Options.Duration)))
	for _, a := range s.Plan {
		d.link = d.link || len(a.Links) > 0 && r.IntN(3) == 0
		d.lasting = max(d.lasting, a.For*time.Duration(r.IntN(2)))
	}
	return s, d
}

func TestWhatIsShrunkShowsTheSameAndIsMinimal(t *testing.T) {
	asked, seeds := 0, uint64(150)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		s, d := madeUp(seed)
		before, _ := json.Marshal(s)
		same := func(_ context.Context, s trial.Spec) (bool, error) {
			asked++
			if err := wellFormed(s); err != nil {
				t.Fatalf("seed %d: asked for a trial with %v", seed, err)
			}
			return d.met(s), nil
		}
		small, err := Search(t.Context(), s, same)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if after, _ := json.Marshal(s); string(after) != string(before) {
			t.Fatalf("seed %d: the spec itself was changed", seed)
		}
		if !d.met(small) {
			t.Errorf("seed %d: what is left does not show the same: %+v", seed, small)
		}
		for i, pass := range slices.Concat(stages...) {
			for k, edit := range pass(small) {
				if smaller := copied(small); edit(&smaller) && d.met(smaller) {
					t.Errorf("seed %d: edit %d of pass %d makes it smaller still", seed, k, i)
				}
			}
		}
		if again, err := Search(t.Context(), s, same); err != nil || !reflect.DeepEqual(again, small) {
			t.Errorf("seed %d: another time it was shrunk to %+v (%v), not %+v", seed, again, err, small)
		}
		var read trial.Spec
		text, _ := json.Marshal(small)
		if err := json.Unmarshal(text, &read); err != nil || !sameSpec(read, small) {
			t.Errorf("seed %d: read back as %+v (%v), want %+v", seed, read, err, small)
		}
	}
	t.Logf("%d trials in each of %d searches", uint64(asked)/(2*seeds), seeds)
}

func sameSpec(s, o trial.Spec) bool {
	a, _ := json.Marshal(s)
	b, _ := json.Marshal(o)
	return string(a) == string(b)
}

// wellFormed returns an error if the spec or its plan is not valid.
func wellFormed(s trial.Spec) error {
	if err := s.Options.Validate(); err != nil {
		return err
	}
	for i, a := range s.Plan {
		if a.ID != i+1 || a.After >= a.ID || a.After < 0 || a.Client >= s.Options.Clients {
			return fmt.Errorf("action %d: %+v", i, a)
		}
		clients := slices.Clone(a.Others)
		for _, t := range triggers(&a) {
			if *t != nil && len((*t).Clients) == 0 {
				return fmt.Errorf("action %d: a trigger for nobody", i)
			}
			if *t != nil {
				clients = append(clients, (*t).Clients...)
			}
		}
		if slices.ContainsFunc(clients, func(c int) bool { return c < 0 || c >= s.Options.Clients }) {
			return fmt.Errorf("action %d: clients %v of %d", i, clients, s.Options.Clients)
		}
		nodes := slices.Clone(a.Nodes)
		for _, l := range a.Links {
			if strings.TrimPrefix(l.From, "c") >= fmt.Sprint(s.Options.Clients) {
				return fmt.Errorf("action %d: link of %s", i, l.From)
			}
			nodes = append(nodes, l.To)
		}
		if slices.ContainsFunc(nodes, func(n string) bool { return n >= nodeID(s.Nodes) }) {
			return fmt.Errorf("action %d: nodes %v of %d", i, nodes, s.Nodes)
		}
		if a.For < 0 || a.Limit < 0 || a.At < 0 || a.Delay < 0 {
			return fmt.Errorf("action %d: negative times: %+v", i, a)
		}
	}
	return nil
}

func TestABudgetThatEndsLeavesTheSmallestSoFar(t *testing.T) {
	s, d := madeUp(3)
	full, sizes := 0, []int{}
	for limit := 1; full == 0; limit += 7 {
		ctx, cancel := context.WithCancelCause(t.Context())
		asked := 0
		small, err := Search(ctx, s, func(_ context.Context, s trial.Spec) (bool, error) {
			if asked++; asked == limit {
				cancel(BudgetUsed(30 * time.Second))
			}
			return d.met(s), nil
		})
		cancel(nil)
		if !d.met(small) {
			t.Errorf("after %d trials: %+v does not show the same", limit, small)
		}
		switch {
		case err == nil:
			full = limit
		case err.Error() != "not shrunk to the end: the time budget of 30s was used up":
			t.Errorf("after %d trials: %v", limit, err)
		}
		sizes = append(sizes, len(small.Plan)+small.Options.Clients)
	}
	if !slices.IsSortedFunc(sizes, func(a, b int) int { return b - a }) || sizes[0] <= sizes[len(sizes)-1] {
		t.Errorf("with more trials, actions and clients were %v", sizes)
	}
}

func TestShrinkSaysWhyThereIsNothingSmaller(t *testing.T) {
	s, _ := madeUp(1)
	no := func(context.Context, trial.Spec) (bool, error) { return false, nil }
	if got, err := Search(t.Context(), s, no); !errors.Is(err, NotShown) || !sameSpec(got, s) {
		t.Errorf("of what shows nothing: %v", err)
	}
	broken := errors.New("no worker")
	fails := func(context.Context, trial.Spec) (bool, error) { return true, broken }
	if got, err := Search(t.Context(), s, fails); !errors.Is(err, broken) || !sameSpec(got, s) {
		t.Errorf("with no worker: %v", err)
	}
}

func TestActionsThatWaitedForOneThatIsGoneWaitForItsForerunner(t *testing.T) {
	plan := func(after ...int) (p nemesis.Plan) {
		for i, n := range after {
			p = append(p, nemesis.Action{ID: i + 1, Idea: fmt.Sprint(i), After: n, Delay: time.Duration(n)})
		}
		return p
	}
	tests := []struct {
		name string
		plan nemesis.Plan
		drop []int
		want []int // the field After of each remaining action
	}{
		{"the first of a chain", plan(0, 1, 2), []int{0}, []int{0, 1}},
		{"the middle of a chain", plan(0, 1, 2), []int{1}, []int{0, 1}},
		{"two of a chain", plan(0, 1, 2, 3), []int{1, 2}, []int{0, 1}},
		{"the end of a chain", plan(0, 1, 2), []int{2}, []int{0, 1}},
		{"another's forerunner", plan(0, 0, 1, 2), []int{1}, []int{0, 1, 0}},
		{"all", plan(0, 1), []int{0, 1}, nil},
	}
	for _, test := range tests {
		s := trial.Spec{Plan: test.plan}
		if !dropActions(&s, func(i int) bool { return slices.Contains(test.drop, i) }) {
			t.Errorf("%s: nothing was dropped", test.name)
		}
		var got []int
		for i, a := range s.Plan {
			got = append(got, a.After)
			if a.ID != i+1 || (a.After == 0 && a.Delay != 0) {
				t.Errorf("%s: action %d is %+v", test.name, i, a)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: what is left waits for %v, want %v", test.name, got, test.want)
		}
	}
}

func TestTimesGetRounderOrAsRoundAndShorter(t *testing.T) {
	const ttl = time.Second
	tests := []struct{ d, needs, want time.Duration }{
		{1623 * time.Millisecond, 1100 * time.Millisecond, 1100 * time.Millisecond},
		{1623 * time.Millisecond, 1101 * time.Millisecond, 1200 * time.Millisecond}, // rounder times are preferred to shorter ones
		{37123 * time.Microsecond, 0, 0},
		{37123 * time.Microsecond, time.Microsecond, 100 * time.Millisecond},
		{-5 * time.Minute, 0, 0},
	}
	for _, test := range tests {
		d := test.d
		for changed := true; changed; {
			changed = false
			for _, smaller := range simplerTimes(d, ttl) {
				if smaller.Abs() >= test.needs && simpler(smaller, d, ttl) {
					d, changed = smaller, true
				}
			}
		}
		if d != test.want {
			t.Errorf("%v, of which %v is needed, became %v; want %v", test.d, test.needs, d, test.want)
		}
	}
}
