package workloads

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
)

func anyOptions(t *rapid.T) Options {
	mean := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "ns"))
	})
	return Options{
		Clients: rapid.IntRange(1, 8).Draw(t, "clients"), Keys: rapid.IntRange(1, 5).Draw(t, "keys"),
		TTL: mean.Draw(t, "ttl"), Hold: mean.Draw(t, "hold"), Rest: mean.Draw(t, "rest"), Retry: mean.Draw(t, "retry"),
		Overrun: rapid.Float64Range(0, 1).Draw(t, "overrun"), Seed: rapid.Uint64Max(1<<53).Draw(t, "seed"),
	}
}

// around reports whether d is 0.5 to 1.5 times the mean, and in whole microseconds.
func around(d, mean time.Duration) bool {
	return d >= mean/2-time.Microsecond && d <= mean*3/2+time.Microsecond && d%time.Microsecond == 0
}

func TestDecisionsAreAPureFunctionWithinTheirBounds(t *testing.T) {
	for _, w := range All() {
		t.Run(w.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				o := anyOptions(t)
				client, n := rapid.IntRange(0, o.Clients-1).Draw(t, "client"), rapid.IntRange(0, 1000).Draw(t, "n")
				s := w.Decide(o, client, n)
				if again := w.Decide(o, client, n); again != s {
					t.Fatalf("decided %+v, and then %+v", s, again)
				}
				o.Script = [][]Section{{s}}
				if err := o.Validate(); err != nil {
					t.Fatalf("%+v: %v", s, err)
				}
				if w.Decide(o, client, n) != s {
					t.Fatal("a script changed what was decided")
				}
				if w.Document != "" { // the document determines the workload's times
					if (s.Hold+s.Rest)%time.Microsecond != 0 || s.Hold > max(o.longest(), o.outlast()) || s.Rest > 2*o.Hold+time.Microsecond && !around(s.Rest, o.Rest) {
						t.Fatalf("%+v of %+v", s, o)
					}
				} else if !around(s.Hold, o.Hold) && s.Hold != o.outlast() || !around(s.Rest, o.Rest) || !around(s.Retry, o.Retry) && s.Retry != time.Microsecond {
					t.Fatalf("%+v of %+v", s, o)
				}
				if suits := w.Suits(history.Claims{ReadWrite: true}); (s.Mode != "") != suits {
					t.Fatalf("mode %q", s.Mode)
				}
			})
		})
	}
}

// A change of one option does not change the decisions that depend on other options.
func TestADialMovesOnlyWhatHangsOnIt(t *testing.T) {
	w, _ := ByName("mutex")
	rapid.Check(t, func(t *rapid.T) {
		a := anyOptions(t)
		b := a
		b.Hold, b.Keys, b.Overrun, b.Clients = anyOptions(t).Hold, 1, 0, 9
		x, y := w.Decide(a, 0, 3), w.Decide(b, 0, 3)
		if x.Rest != y.Rest || x.Retry != y.Retry {
			t.Fatalf("%+v and %+v", x, y)
		}
	})
}

func TestAmongWritersNobodyOnlyReads(t *testing.T) {
	w, _ := ByName("read-write")
	rapid.Check(t, func(t *rapid.T) {
		o := anyOptions(t)
		o.Writers = true
		n := rapid.IntRange(0, 100).Draw(t, "section")
		if s := w.Decide(o, 1, n); s.Mode != history.Write {
			t.Fatalf("section %d is for %q", n, s.Mode)
		}
	})
}

func TestDecisionsDifferBetweenSeedsClientsAndSections(t *testing.T) {
	opts := options
	opts.Keys = 4
	w, _ := ByName("mutex")
	seen := map[time.Duration]int{}
	byLock := make([]int, opts.Keys)
	var sum, product float64
	const each = 20
	for seed := range uint64(each) {
		opts.Seed = seed
		for client := range each {
			for n := range each {
				s := w.Decide(opts, client, n)
				seen[s.Hold]++
				byLock[s.Lock]++
				sum += float64(s.Hold) / float64(opts.Hold)
				next := w.Decide(opts, client, n+1)
				product += (float64(s.Hold)/float64(opts.Hold) - 1) * (float64(next.Hold)/float64(opts.Hold) - 1)
			}
		}
	}
	const all = each * each * each
	if len(seen) < all*9/10 {
		t.Errorf("%d different holds in %d sections", len(seen), all)
	}
	if mean := sum / all; math.Abs(mean-1) > 0.02 {
		t.Errorf("mean hold is %.3f of what was asked", mean)
	}
	if covariance := product / all; math.Abs(covariance) > 0.01 {
		t.Errorf("successive holds have covariance %.4f", covariance)
	}
	if slices.Min(byLock) < all/opts.Keys*9/10 {
		t.Errorf("locks were chosen %v times", byLock)
	}
}

func TestOptionsThatNoTrialCanBeMadeOfAreRefused(t *testing.T) {
	script := func(s ...Section) func(*Options) {
		return func(o *Options) { o.Script = [][]Section{nil, s} }
	}
	for want, change := range map[string]func(*Options){
		"0 clients and 1 keys":                                    func(o *Options) { o.Clients = 0 },
		"3 clients and 0 keys":                                    func(o *Options) { o.Keys = 0 },
		"overrun is NaN: expected 0 to 1":                         func(o *Options) { o.Overrun = math.NaN() },
		"overrun is 1.5: expected 0 to 1":                         func(o *Options) { o.Overrun = 1.5 },
		"ttl is -1ns: expected 0 or more":                         func(o *Options) { o.TTL = -1 },
		"the script has lists for 4 clients: expected at most 3":  func(o *Options) { o.Script = make([][]Section, 4) },
		"script of client 1, section 1: lock 1: expected 0 to 0":  script(Section{}, Section{Lock: 1}),
		"script of client 1, section 0: lock -1: expected 0 to 0": script(Section{Lock: -1}),
		`section 0: mode "both": expected read, write or none`:    script(Section{Mode: "both"}),
		"section 0: depth -1 is negative":                         script(Section{Depth: -1}),
		"section 0: hold is -1s: expected 0 or more":              script(Section{Hold: -time.Second}),
		"section 0: late is -1s: expected 0 or more":              script(Section{Late: -time.Second}),
		"section 0: rest is -1s: expected 0 or more":              script(Section{Rest: -time.Second}),
		"section 0: retry is -1s: expected 0 or more":             script(Section{Retry: -time.Second}),
		"": script(Section{}, Section{Mode: history.Read, Depth: 2, Retry: 1, Hold: 1, Late: 1, Rest: 1}),
	} {
		opts := options
		change(&opts)
		ops, err := play(t, "mutex", &fakeEnv{}, opts, nil)
		if want == "" {
			if err != nil {
				t.Errorf("a good script: %v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || len(ops) > 1 {
			t.Errorf("got %v and %d entries, want %s", err, len(ops), want)
		}
	}
}

// invokedAt returns the times at which a client asked for a lock.
func invokedAt(ops []history.Op, client int) (at []time.Duration) {
	for _, op := range ops {
		if op.Client == client && op.F == history.FAcquire && op.Type == history.Invoke {
			at = append(at, op.Time)
		}
	}
	return at
}

func TestAScriptedClientDoesWhatItIsToldThenRestsUntilHealing(t *testing.T) {
	opts := options
	opts.Keys = 2
	opts.Script = [][]Section{
		{{Lock: 1, Hold: 700 * time.Millisecond, Rest: 30 * time.Millisecond}, {Lock: 0, Hold: 20 * time.Millisecond}},
		{}, // an empty list; the third client has no list
	}
	var mu sync.Mutex
	var resting []int
	e := &fakeEnv{at: func(client int, step string) error {
		mu.Lock()
		defer mu.Unlock()
		if step == "rest" {
			resting = append(resting, client)
		}
		return nil
	}}
	ops := played(t, "mutex", e, opts, nil)
	healed := slices.IndexFunc(ops, is(history.FHealed, history.Info))
	var held []string
	var holds []time.Duration
	for _, op := range ops[:healed] {
		switch {
		case op.Client > 0:
			t.Fatalf("client %d did something before the healing: %+v", op.Client, op)
		case op.F == history.FAcquire && op.Type == history.OK:
			held = append(held, op.Lock)
			holds = append(holds, -op.Time)
		case op.F == history.FRelease && op.Type == history.Invoke:
			holds[len(holds)-1] += op.Time
		}
	}
	if !slices.Equal(held, []string{"lock-1", "lock-0"}) || !slices.Equal(holds, []time.Duration{700 * time.Millisecond, 20 * time.Millisecond}) {
		t.Errorf("held %v for %v", held, holds)
	}
	if slices.Sort(resting); !slices.Equal(resting, []int{0, 0, 0, 1, 2}) {
		t.Errorf("clients %v rested, want the first after each section and all before the healing", resting)
	}
	if n := count(ops[healed:], is(history.FAcquire, history.OK)); n != opts.Clients*opts.Keys {
		t.Errorf("%d of %d entries after healing", n, opts.Clients*opts.Keys)
	}
}

func TestScriptedClientsWakeOneAfterAnother(t *testing.T) {
	opts := options
	opts.Script = [][]Section{{}}
	ops := played(t, "mutex", &fakeEnv{}, opts, nil)
	for c := range opts.Clients {
		if at, want := invokedAt(ops, c)[0], opts.Duration+time.Duration(c+1)*apart; at != want {
			t.Errorf("client %d woke at %v, want %v", c, at, want)
		}
	}
}
