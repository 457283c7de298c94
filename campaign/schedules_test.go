package campaign

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// renewingLock is a recipe that claims to renew.
const renewingLock = "test-renewing"

func init() {
	locks.Register(locks.Recipe{ID: renewingLock, Topology: locks.Single, Claims: func(ttl time.Duration, _ int) history.Claims {
		return history.Claims{Quorum: 1, TTL: ttl, Recovery: ttl, Renews: true}
	}})
}

// twoSchedules returns one schedule that strikes an acquire and one that strikes the hold.
func twoSchedules(string, nemesis.World) ([]nemesis.Schedule, error) {
	at := func(step string, long time.Duration) nemesis.Plan {
		return nemesis.Plan{{ID: 1, Fault: "client-pause", Point: &nemesis.Trigger{Clients: []int{0}, Step: step}, For: long, By: time.Second}}
	}
	return []nemesis.Schedule{
		{Name: "acquire.n0.1.before-1of2", Clients: 2, Plan: at(testbed.StepAcquire, time.Second)},
		{Name: "hold-2of3", Clients: 3, Plan: at(testbed.StepHold, 9*time.Second)},
	}, nil
}

// namedJobs returns the trials of a campaign over the given locks, as if their probes had run.
func namedJobs(t *testing.T, adjust func(*Config), ids ...string) ([]job, []plannedCell) {
	t.Helper()
	c := fakeConfig("", ids...)
	c.Faults, c.Trials, c.Named, c.Duration = []string{undisturbed, "client-pause"}, 2, true, 5*time.Second
	if adjust != nil {
		adjust(&c)
	}
	p := newPlanner(c, &trialtest.Bed{})
	p.schedule = func(fault string, w nemesis.World) ([]nemesis.Schedule, error) {
		if fault == undisturbed {
			return nil, nil
		}
		return twoSchedules(fault, w)
	}
	cells, err := p.cells()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		p.seen[pair{id, "mutex"}] = nemesis.Sight{Points: []testbed.Point{{Step: testbed.StepAcquire, Node: "n0", N: 1, When: testbed.Before}}}
	}
	jobs, err := p.jobs(cells)
	if err != nil {
		t.Fatal(err)
	}
	return jobs, cells
}

func onlyNamed(jobs []job) []job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return !j.spec.Named() })
}

func TestNamedTrialsRunBeforeThoseThatAreDrawnCellByCell(t *testing.T) {
	jobs, cells := namedJobs(t, nil, trialtest.Sound, renewingLock)
	var got []string
	for _, j := range jobs {
		got = append(got, trial.Folder(j.spec))
	}
	want := []string{
		"trials/test-renewing/client-pause/mutex-acquire.n0.1.before-1of2",
		"trials/test-sound/client-pause/mutex-acquire.n0.1.before-1of2",
		"trials/test-renewing/client-pause/mutex-hold-2of3",
		"trials/test-sound/client-pause/mutex-hold-2of3",
		"trials/test-renewing/client-pause/mutex-0",
		"trials/test-sound/client-pause/mutex-0",
		"trials/test-renewing/none/mutex-1",
		"trials/test-renewing/client-pause/mutex-1",
		"trials/test-sound/none/mutex-1",
		"trials/test-sound/client-pause/mutex-1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("jobs are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, p := range planned(cells) {
		if want := map[string]int{"client-pause": 2}[p.Fault]; p.Named != want {
			t.Errorf("%s under %s: %d named schedules planned, want %d", p.Lock, p.Fault, p.Named, want)
		}
	}
}

func TestANamedTrialIsTheSameWhateverTheSeed(t *testing.T) {
	one, _ := namedJobs(t, func(c *Config) { c.Seed = 1 }, trialtest.Sound)
	two, _ := namedJobs(t, func(c *Config) { c.Seed, c.Trials, c.Clients = 2, 5, 9 }, trialtest.Sound, renewingLock)
	two = slices.DeleteFunc(two, func(j job) bool { return j.spec.Lock != trialtest.Sound })
	for i, j := range onlyNamed(one) {
		a, b := j.spec, onlyNamed(two)[i].spec
		if !reflect.DeepEqual(a, b) || a.Seed != a.Options.Seed {
			t.Errorf("%s: got\n%+v and\n%+v", a.Schedule, a, b)
		}
	}
	if a, b := onlyNamed(one)[0].spec.Seed, onlyNamed(one)[1].spec.Seed; a == b {
		t.Error("two schedules share a seed")
	}
}

func TestANamedTrialIsAsLargeAndLongAsItsScheduleNeeds(t *testing.T) {
	long := func(c *Config) { c.Duration = time.Minute }
	jobs, _ := namedJobs(t, long, trialtest.Sound, renewingLock)
	for _, j := range onlyNamed(jobs) {
		o := j.spec.Options
		inside := j.spec.Schedule == "hold-2of3"
		clients, overrun, want := 2, 0.25, 3*o.TTL
		if inside {
			clients, overrun, want = 3, 1, j.spec.Plan.Length(nemesis.World{TTL: o.TTL, Hold: o.Hold})
		}
		if j.spec.Lock == trialtest.Sound {
			overrun = 0
		}
		if o.Clients != clients || o.Duration != want || o.Overrun != overrun {
			t.Errorf("%s of %s: %d clients, %v, overrun %v; want %d, %v, %v",
				j.spec.Schedule, j.spec.Lock, o.Clients, o.Duration, o.Overrun, clients, want, overrun)
		}
	}
	jobs, _ = namedJobs(t, func(c *Config) { c.Overrun = 0 }, renewingLock)
	if o := onlyNamed(jobs)[1].spec.Options; o.Overrun != 0 {
		t.Errorf("overrun %v although none was asked for", o.Overrun)
	}
}

func TestACellIsShownByItsNamedTrialWithItsCommand(t *testing.T) {
	flaw := trialtest.Violated("ownership", "foreign-delete")
	drawn, named := found("delay", 0, 1, flaw), found("delay", 7, 1, flaw)
	named.Spec.Schedule = "release.n0.1.before-1of2"
	named.Spec.Seed, named.Hash = 5, strings.Repeat("ab", 32)
	info := Info{Config: DefaultConfig(), Deterministic: true, Plan: []PlannedCell{{Lock: "test-flawed", Fault: "delay"}}}
	info.Config.Seed = 99
	c := fold(info, "", []trial.Result{drawn, named}).Cells[0]
	want := "lockstorm replay --testbed fake --lock test-flawed --fault delay --workload mutex --schedule release.n0.1.before-1of2 --hash abababababababab"
	if c.Seed != 5 || c.Replay != want {
		t.Errorf("seed %d, replay\n%s\nwant 5 and\n%s", c.Seed, c.Replay, want)
	}
}

// The default number of clients bounds the attempts as the same number does that a user chooses. Drawn trials
// may try more seldom.
func TestClientsByDefaultTryAsOftenAsThoseThatAreChosen(t *testing.T) {
	for _, clients := range []int{0, defaultClients} {
		jobs, _ := namedJobs(t, func(c *Config) { c.TTL, c.Clients = 10*time.Millisecond, clients }, trialtest.Sound)
		if len(jobs) == 0 {
			t.Fatal("there are no trials")
		}
		for _, j := range jobs {
			got, want := j.spec.Options.Retry, defaultClients*crowdRetry
			if got < want || j.spec.Named() && got != want {
				t.Fatalf("%s: %d clients try every %v, want %v", j.spec.Title(), clients, got, want)
			}
		}
	}
}
