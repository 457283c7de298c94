package campaign

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// A campaign can confirm another one: on its own testbed, it runs the trials that showed
// the other campaign's flaws, and checks whether the flaws show there too.

// Sought is a flaw that a campaign is to confirm.
type Sought struct {
	Lock   string `json:"lock"`
	Fault  string `json:"fault"`
	Oracle string `json:"oracle"`
	Cause  string `json:"cause"`
}

// confirmation describes another campaign, whose flaws this campaign tries to confirm.
type confirmation struct {
	plan   []PlannedCell  // of the other campaign
	trials []trial.Result // of the other campaign, without failed ones, attempts merged (together)
	sought []Sought
	rounds int            // rounds of insist so far
	tried  map[string]int // attempts at each trial in this campaign, by trial.Folder
}

// newConfirmation loads the campaign that c.Confirm names. It copies that campaign's numbers of clients,
// keys and nodes, its times, Overrun, Trusting and seed to c, but not its choice of recipes. It returns
// nil if c.Confirm is empty. Errors are input.Errors.
func newConfirmation(c *Config) (*confirmation, error) {
	if c.Confirm == "" {
		return nil, nil
	}
	if c.Named {
		return nil, input.Errorf("%s runs the trials of another campaign: expected no %s", input.Setting("confirm"), input.Setting("named"))
	}
	other, err := Load(c.Confirm)
	if err != nil {
		return nil, input.Errorf("%s %w", input.Setting("confirm"), err)
	}
	o := other.Info.Config
	c.Nodes, c.Clients, c.Keys, c.Overrun, c.Trusting, c.Seed = o.Nodes, o.Clients, o.Keys, o.Overrun, o.Trusting, o.Seed
	c.TTL, c.Hold, c.Rest, c.Duration, c.CommandTimeout = o.TTL, o.Hold, o.Rest, o.Duration, o.CommandTimeout
	trials := slices.DeleteFunc(slices.Clone(other.Trials), func(t trial.Result) bool { return t.Err != "" })
	slices.SortStableFunc(trials, compareTrials)
	return &confirmation{plan: other.Info.Plan, trials: together(trials), tried: map[string]int{}}, nil
}

// together merges the attempts at each trial into the first one, which gets the flaws and verdicts
// of all attempts.
func together(trials []trial.Result) (all []trial.Result) {
	at := map[string]int{}
	for _, t := range trials {
		t.Spec.Attempt = 0
		id := trial.Folder(t.Spec)
		i, ok := at[id]
		if !ok {
			at[id], all = len(all), append(all, t)
			continue
		}
		all[i].Flaws = trial.Distinct(slices.Concat(all[i].Flaws, t.Flaws))
		all[i].Verdicts = slices.Concat(all[i].Verdicts, t.Verdicts)
	}
	return all
}

// among returns the cells that the other campaign has too, or all cells if f is nil. The error is
// an input.Error if the campaigns have no cell in common.
func (f *confirmation) among(cells []plannedCell) ([]plannedCell, error) {
	if f == nil {
		return cells, nil
	}
	both := slices.DeleteFunc(slices.Clone(cells), func(c plannedCell) bool {
		return !slices.ContainsFunc(f.plan, c.is)
	})
	if len(both) == 0 {
		return nil, input.Errorf("%s: the campaign there has none of the chosen locks under the chosen faults", input.Setting("confirm"))
	}
	return both, nil
}

// is says whether p, a cell of another campaign, has c's recipe and fault.
func (c plannedCell) is(p PlannedCell) bool { return p.Lock == c.recipe.ID && p.Fault == c.fault.Name }

// jobs returns the trials of the cells. For each flaw that the other campaign showed in a cell, it
// takes the first Config.Trials candidates. In a cell without flaws, it takes up to Config.Trials
// drawn trials of each workload.
func (f *confirmation) jobs(p *planner, cells []plannedCell) []job {
	for i := range cells {
		c := &cells[i]
		if j := slices.IndexFunc(f.plan, c.is); j >= 0 && c.lack == nil {
			c.lack = f.plan[j].NotSupported // the probe in the other campaign may have shown this lack
		}
	}
	for _, c := range cells {
		sought, _ := f.candidates(c)
		f.sought = append(f.sought, sought...)
	}
	return f.more(p, cells, func(Sought) bool { return true }, func(plannedCell) bool { return true }, true)
}

// more returns the trials of a round. For each sought flaw that the function wanted accepts, it takes up to
// Config.Trials candidates, those that have run least often first. If again is false, it leaves out candidates
// that have already run. If no flaw is sought in a cell, and the function idle accepts the cell, it takes the
// cell's next drawn trials. It sorts the jobs, each of a distinct trial, by fault.
func (f *confirmation) more(p *planner, cells []plannedCell, wanted func(Sought) bool, idle func(plannedCell) bool, again bool) []job {
	var jobs []job
	for i := range cells {
		c := &cells[i]
		chosen := map[string]bool{}
		for _, s := range f.choose(*c, p.config.Trials, wanted, idle, again) {
			id := trial.Folder(s)
			if _, probed := p.seen[pair{c.recipe.ID, s.Workload}]; c.lack != nil || !probed || chosen[id] {
				continue // not supported, not probed (the failed probe has been reported), or a duplicate
			}
			chosen[id] = true
			c.named++
			jobs = append(jobs, job{spec: p.here(*c, f.next(s))})
		}
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.spec.Fault, b.spec.Fault) })
	return jobs
}

// choose returns the trials of a cell in a round (more): up to most for each flaw.
func (f *confirmation) choose(c plannedCell, most int, wanted func(Sought) bool, idle func(plannedCell) bool, again bool) (specs []trial.Spec) {
	sought, candidates := f.candidates(c)
	if len(sought) == 0 && idle(c) {
		return f.drawn(c, most)
	}
	for _, s := range sought {
		if !wanted(s) {
			continue
		}
		next := slices.DeleteFunc(candidates[s], func(t trial.Result) bool { return !again && f.tried[trial.Folder(t.Spec)] > 0 })
		slices.SortStableFunc(next, func(a, b trial.Result) int {
			return cmp.Compare(f.tried[trial.Folder(a.Spec)], f.tried[trial.Folder(b.Spec)])
		})
		for _, t := range next[:min(most, len(next))] {
			specs = append(specs, t.Spec)
		}
	}
	return specs
}

// next returns the spec with the number of the trial's next attempt (Spec.Attempt), from 0, and counts
// that attempt.
func (f *confirmation) next(s trial.Spec) trial.Spec {
	s.Attempt = 0
	id := trial.Folder(s)
	s.Attempt = f.tried[id]
	f.tried[id]++
	return s
}

// candidates returns the flaws that the other campaign showed in the cell and, for each flaw, the
// trials that showed it. Trials that showed a flaw for a longer time come first. Times longer than
// a tenth of the lease time count as equal: only a longer stall could put them in doubt, and such a
// stall spoils the whole trial anyway (checker.Stalled). Among equals, trials with different ideas
// take turns.
func (f *confirmation) candidates(c plannedCell) (sought []Sought, by map[Sought][]trial.Result) {
	by = map[Sought][]trial.Result{}
	for _, t := range f.of(c) {
		for _, flaw := range t.Flaws {
			s := Sought{t.Spec.Lock, t.Spec.Fault, flaw.Oracle, flaw.Cause}
			if by[s] == nil {
				sought = append(sought, s)
			}
			by[s] = append(by[s], t)
		}
	}
	for s, trials := range by {
		slices.SortStableFunc(trials, func(a, b trial.Result) int { return -cmp.Compare(s.shownFor(a), s.shownFor(b)) })
		by[s] = s.varied(trials)
	}
	return sought, by
}

// varied reorders trials that showed the flaw equally long, so that trials with different ideas
// (nemesis.Action.Idea) take turns: if one idea does not work here, another may.
func (s Sought) varied(trials []trial.Result) []trial.Result {
	type idea struct {
		long time.Duration
		text string
	}
	turn, seen := make(map[string]int, len(trials)), map[idea]int{}
	for _, t := range trials {
		var ideas []string
		for _, a := range t.Spec.Plan {
			ideas = append(ideas, a.Idea)
		}
		i := idea{s.shownFor(t), strings.Join(ideas, ", ")}
		turn[trial.Folder(t.Spec)] = seen[i]
		seen[i]++
	}
	slices.SortStableFunc(trials, func(a, b trial.Result) int {
		return cmp.Or(-cmp.Compare(s.shownFor(a), s.shownFor(b)), cmp.Compare(turn[trial.Folder(a.Spec)], turn[trial.Folder(b.Spec)]))
	})
	return trials
}

// shownFor returns the longest time for which the trial showed the flaw, at most a tenth of
// its lease time.
func (s Sought) shownFor(t trial.Result) time.Duration {
	longest := time.Duration(0)
	for _, v := range t.Verdicts {
		for _, found := range v.Findings {
			if v.Oracle == s.Oracle && string(found.Cause) == s.Cause {
				longest = max(longest, found.To-found.From)
			}
		}
	}
	return min(longest, t.Spec.Options.TTL/10)
}

// drawn returns drawn trials of a cell that have not run here: at most the given number for each
// workload, decided trials first. It is for cells in which no flaw is sought.
func (f *confirmation) drawn(c plannedCell, each int) (specs []trial.Spec) {
	drawn := map[string]int{}
	trials := f.of(c)
	slices.SortStableFunc(trials, func(a, b trial.Result) int {
		switch {
		case a.Decided() == b.Decided():
			return a.Spec.Turn().Compare(b.Spec.Turn())
		case a.Decided():
			return -1
		}
		return 1
	})
	for _, t := range trials {
		if w := t.Spec.Workload; !t.Spec.Named() && drawn[w] < each && f.tried[trial.Folder(t.Spec)] == 0 {
			drawn[w]++
			specs = append(specs, t.Spec)
		}
	}
	return specs
}

// of returns the other campaign's trials of a cell in the chosen workloads. For a cell that is not
// supported here, it returns them in all workloads.
func (f *confirmation) of(c plannedCell) []trial.Result {
	return slices.DeleteFunc(slices.Clone(f.trials), func(t trial.Result) bool {
		return t.Spec.Lock != c.recipe.ID || t.Spec.Fault != c.fault.Name || c.lack == nil && !slices.Contains(c.workloads, t.Spec.Workload)
	})
}

// sought returns the flaws to be confirmed; nil if this campaign does not confirm another one.
func (p *planner) sought() []Sought {
	if p.confirm == nil {
		return nil
	}
	return p.confirm.sought
}

// here adapts another campaign's trial to this campaign.
func (p *planner) here(c plannedCell, s trial.Spec) trial.Spec {
	s.Testbed, s.Timeout = p.config.Testbed, p.config.Timeout
	p.config.clients(&s)
	if c.topology != testbed.Independent { // an independent topology keeps its number of nodes
		s.Topology = c.topology
	}
	return s
}

// tries is the maximum number of rounds in which insist runs more trials for every sought flaw that its
// cell has not shown. lastTries is the maximum number of rounds after these, for fewer flaws: those that no
// cell has shown, and those of cells that have shown none of their sought flaws.
const (
	tries     = 2
	lastTries = 4
)

// insist returns more of the confirmed campaign's trials, for flaws that have not shown and for cells
// in which no trial was exercised. On real time it also repeats trials: another attempt at a trial
// may go differently.
func (r *run) insist(cells []plannedCell) ([]job, error) {
	f := r.planner.confirm
	if f == nil || f.rounds == tries+lastTries {
		return nil, nil
	}
	h := huntOf(r.info, r.trials)
	wanted := func(s Sought) bool { return !h.shows(s) }
	if f.rounds >= tries {
		wanted = func(s Sought) bool { return !h.showsAnywhere(s) || !h.showsSomething(s) }
	}
	f.rounds++
	return f.more(r.planner, cells, wanted, r.idle, !r.info.Deterministic), nil
}

// unconfirmed returns the sought flaws that did not show in cells that finished. On a deterministic
// testbed, it returns a flaw once for each such cell. Elsewhere, it returns a flaw only if no cell
// showed it, as one entry with the faults of all such cells.
func (h hunt) unconfirmed() []Discrepancy {
	type flaw struct{ lock, oracle, cause string }
	var all []Discrepancy
	under, shown := map[flaw][]string{}, map[flaw]bool{}
	for _, s := range h.info.Sought {
		f := flaw{s.Lock, s.Oracle, s.Cause}
		switch {
		case h.shows(s):
			shown[f] = true
		case !h.finishes(s):
		case h.info.Deterministic:
			all = append(all, s.missed(s.Fault))
		default:
			under[f] = append(under[f], s.Fault)
		}
	}
	for _, s := range h.info.Sought {
		f := flaw{s.Lock, s.Oracle, s.Cause}
		if faults := under[f]; len(faults) > 0 && !shown[f] {
			all = append(all, s.missed(strings.Join(faults, ",")))
			delete(under, f)
		}
	}
	return all
}

// shows says whether a trial of this campaign showed s in the cell of s.
func (h hunt) shows(s Sought) bool { return h.flaws[cellFlaw{s.Lock, s.Fault, s.Oracle, s.Cause}] }

// idle says whether no trial of the cell was exercised so far.
func (r *run) idle(c plannedCell) bool {
	return !slices.ContainsFunc(r.trials, func(t trial.Result) bool {
		return t.Spec.Lock == c.recipe.ID && t.Spec.Fault == c.fault.Name && t.Outcome != trial.NotExercised
	})
}

// showsAnywhere says whether s showed under any fault under which it is sought.
func (h hunt) showsAnywhere(s Sought) bool {
	return slices.ContainsFunc(h.info.Sought, func(o Sought) bool {
		return o.Lock == s.Lock && o.Oracle == s.Oracle && o.Cause == s.Cause && h.shows(o)
	})
}

// showsSomething says whether the cell of s shows any flaw that is sought in it.
func (h hunt) showsSomething(s Sought) bool {
	return slices.ContainsFunc(h.info.Sought, func(o Sought) bool {
		return o.Lock == s.Lock && o.Fault == s.Fault && h.shows(o)
	})
}

// finishes says whether the absence of the flaw s means something: the campaign looked for it in
// its cell (looked), or this testbed does not support the cell.
func (h hunt) finishes(s Sought) bool {
	i := slices.IndexFunc(h.info.Plan, func(p PlannedCell) bool { return p.Lock == s.Lock && p.Fault == s.Fault })
	return i >= 0 && (h.info.Plan[i].NotSupported != nil || h.looked(h.info.Plan[i], s.Oracle))
}

func (s Sought) missed(under string) Discrepancy {
	return Discrepancy{Lock: s.Lock, Fault: under, Oracle: s.Oracle, Cause: s.Cause}
}

// Confirmed counts sought flaws: n is the number that showed; of is the number that showed or whose
// cell finished. A flaw counts once for each cell.
func (s Stored) Confirmed() (n, of int) {
	h := huntOf(s.Info, s.Trials)
	for _, f := range s.Info.Sought {
		if h.shows(f) {
			n++
		} else if !h.finishes(f) {
			continue
		}
		of++
	}
	return n, of
}
