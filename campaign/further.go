package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// Further counts the trials that Config.Budget added to the planned ones. A further trial that
// shows something for the first time in its cell is stored like a planned one. All other further
// trials are only counted, in Cells.
type Further struct {
	Rounds int `json:"rounds"` // rounds begun; each draws one more trial of every cell and workload that does not rest
	Trials int `json:"trials"` // further trials that ran, stored ones included
	// LastNewFlaw is the number of the last further trial that showed a flaw which its cell had not
	// shown before, counted from 1; 0 = no trial did. Each shard counts its own trials; a merged
	// campaign has the maximum.
	LastNewFlaw int           `json:"lastNewFlaw,omitempty"`
	Virtual     time.Duration `json:"virtual,omitempty"` // virtual time of the trials that are not stored
	Cells       []Tally       `json:"cells,omitempty"`   // sorted in the order of the plan after each batch
}

// Tally counts the further trials of a cell. All fields but Ran and LastNew are like Cell's, and count only
// the trials that are not stored.
type Tally struct {
	Lock       string `json:"lock"`
	Fault      string `json:"fault"`
	Trials     int    `json:"trials"`
	Exercised  int    `json:"exercised,omitempty"`
	Undecided  int    `json:"undecided,omitempty"`
	Violations int    `json:"violations,omitempty"`
	Unstruck   int    `json:"unstruck,omitempty"`
	// Ranks counts the trials by trial.Result.Rank.
	Ranks map[int]int `json:"ranks"`
	// Ran counts all further trials of the cell, stored ones included. LastNew is the number, among
	// these, of the last one that showed a new behaviour; 0 = none did. In a merged campaign, whose shards
	// each counted their own, LastNew is the greatest.
	Ran     int `json:"ran,omitempty"`
	LastNew int `json:"lastNew,omitempty"`
}

// of returns the counts of a cell, which the caller may change; none if the cell has no further trials.
func (f *Further) of(lock, fault string) Tally {
	if f == nil || f.index(lock, fault) < 0 {
		return Tally{Lock: lock, Fault: fault, Ranks: map[int]int{}}
	}
	c := *f.cell(lock, fault)
	c.Ranks = maps.Clone(c.Ranks)
	return c
}

// index returns the index of a cell's tally; -1 = there is none.
func (f *Further) index(lock, fault string) int {
	return slices.IndexFunc(f.Cells, func(c Tally) bool { return c.Lock == lock && c.Fault == fault })
}

// tallied returns the number of further trials that are not stored.
func (f *Further) tallied() (n int) {
	if f == nil {
		return 0
	}
	for _, c := range f.Cells {
		n += c.Trials
	}
	return n
}

// Words returns a clause about the rounds, such as "12 further trials in 3 rounds: no cell …".
func (f *Further) Words() string {
	if f.Trials == 0 {
		return "the planned trials used up the budget: no time was left for further trials"
	}
	text := fmt.Sprintf("%d further %s in %d %s", f.Trials, wording.Plural(f.Trials, "trial"), f.Rounds, wording.Plural(f.Rounds, "round"))
	if f.LastNewFlaw == 0 {
		return text + ": no cell showed a new flaw"
	}
	return text + fmt.Sprintf(": the last that showed its cell a new flaw was number %d", f.LastNewFlaw)
}

// cell returns the tally of a cell. It adds the tally if there is none.
func (f *Further) cell(lock, fault string) *Tally {
	i := f.index(lock, fault)
	if i < 0 {
		i = len(f.Cells)
		f.Cells = append(f.Cells, Tally{Lock: lock, Fault: fault, Ranks: map[int]int{}})
	}
	return &f.Cells[i]
}

// count counts a trial.
func (c *Tally) count(t trial.Result) {
	c.Trials++
	c.Ranks[t.Rank()]++
	switch {
	case t.Decided():
		c.Exercised++
	case t.Outcome == trial.Unknown:
		c.Undecided++
	}
	if t.Violation() {
		c.Violations++
		if !t.Exercised() {
			c.Unstruck++
		}
	}
}

// add adds the counts of another shard.
func (f *Further) add(g *Further) {
	f.Rounds, f.LastNewFlaw = max(f.Rounds, g.Rounds), max(f.LastNewFlaw, g.LastNewFlaw)
	f.Trials += g.Trials
	f.Virtual += g.Virtual
	for _, c := range g.Cells {
		sum := f.cell(c.Lock, c.Fault)
		sum.Ran, sum.LastNew = sum.Ran+c.Ran, max(sum.LastNew, c.LastNew)
		sum.Trials += c.Trials
		sum.Exercised += c.Exercised
		sum.Undecided += c.Undecided
		sum.Violations += c.Violations
		sum.Unstruck += c.Unstruck
		for rank, n := range c.Ranks {
			sum.Ranks[rank] += n
		}
	}
}

// sort puts the cells in the order of the plan.
func (f *Further) sort(plan []PlannedCell) {
	at := map[cellFlaw]int{}
	for i, p := range plan {
		at[cellFlaw{lock: p.Lock, fault: p.Fault}] = i
	}
	slices.SortFunc(f.Cells, func(a, b Tally) int {
		return cmp.Compare(at[cellFlaw{lock: a.Lock, fault: a.Fault}], at[cellFlaw{lock: b.Lock, fault: b.Fault}])
	})
}

// search is the state of the search for what planned trials did not show.
type search struct {
	shown   knowledge
	attends *attention
	k       int          // number of the next trial of every cell and workload
	batch   []trial.Done // trials that have ended since the last digest
}

// further is the source of the trials of Config.Budget: rounds, until the budget is used up or no cell can be tried. A
// round has one trial of every cell and workload, except of cells that rest (attention).
func (r *run) further(cells []plannedCell) (jobs []job, err error) {
	if r.Config.Budget == 0 {
		return nil, nil
	}
	if r.search == nil {
		if deadline := r.started.Add(r.Config.Budget); r.over == nil {
			r.over = func(int) bool { return !time.Now().Before(deadline) }
		}
		r.info.Further = &Further{}
		r.search = &search{shown: knowledge{}, attends: newAttention(cells, cmp.Or(r.quiet, leastQuiet)), k: r.info.furtherFrom()}
		for _, t := range r.trials {
			r.search.shown.learn(t)
		}
	}
	r.digest()
	s := r.search
	awake := s.attends.awake()
	for len(jobs) < leastBatch && len(awake) > 0 && r.progress.Failed == 0 && !r.over(s.k) {
		more, err := r.planner.round(awake, s.k)
		if err != nil {
			return nil, err
		}
		if len(more) == 0 { // no probe of these cells finished, or their faults cannot strike
			s.attends.giveUp(awake)
			awake = s.attends.awake()
			continue
		}
		jobs = append(jobs, slices.DeleteFunc(more, func(j job) bool { return !r.Config.Shard.has(j.spec) })...)
		s.k++
	}
	return jobs, nil
}

// furtherFrom returns the number of the first further trial of every cell and workload: planned trials
// have smaller numbers.
func (i Info) furtherFrom() int {
	if i.Config.Corpus {
		return max(firstFurther, i.Config.Trials)
	}
	return i.Config.Trials
}

// firstFurther is the least furtherFrom of a campaign whose corpus says how many trials are drawn.
const firstFurther = 1000

// leastQuiet is the number of further trials without a new behaviour after which a cell rests.
const leastQuiet = 50

// attention decides which cells a round tries: those that still show new behaviours.
//
// Cell.Bound stays valid, although the trials so far decide how many follow. The bound is shown only
// for cells without a violation, and every trial lowers it. If trials are violated with probability p
// on average, then n trials show no violation with a probability of at most (1-p)^n.
type attention struct {
	cells []plannedCell    // the cells that can be tried
	quiet int              // cells rest after this many trials without a new behaviour
	since map[cellFlaw]int // by lock and fault: further trials since the last new behaviour
}

func newAttention(cells []plannedCell, quiet int) *attention {
	can := slices.DeleteFunc(slices.Clone(cells), func(c plannedCell) bool { return c.lack != nil || len(c.workloads) == 0 })
	return &attention{can, quiet, map[cellFlaw]int{}}
}

func (a *attention) sinceNew(c plannedCell) int {
	return a.since[cellFlaw{lock: c.recipe.ID, fault: c.fault.Name}]
}

// giveUp leaves these cells out from now on.
func (a *attention) giveUp(cells []plannedCell) {
	a.cells = slices.DeleteFunc(a.cells, func(c plannedCell) bool {
		return slices.ContainsFunc(cells, func(d plannedCell) bool { return c.recipe.ID == d.recipe.ID && c.fault.Name == d.fault.Name })
	})
}

// saw counts a further trial of its cell. If the trial showed a new behaviour, the count starts
// again at 0.
func (a *attention) saw(t trial.Result, newBehaviour bool) {
	at := cellFlaw{lock: t.Spec.Lock, fault: t.Spec.Fault}
	if a.since[at]++; newBehaviour {
		a.since[at] = 0
	}
}

// awake returns the cells that do not rest. If all rest, it doubles quiet until some do not.
func (a *attention) awake() []plannedCell {
	for len(a.cells) > 0 {
		some := slices.DeleteFunc(slices.Clone(a.cells), func(c plannedCell) bool { return a.sinceNew(c) >= a.quiet })
		if len(some) > 0 {
			return some
		}
		a.quiet *= 2
	}
	return nil
}

// leastBatch is the minimum number of further trials between two saves of their counts: small, so
// that a killed campaign loses few, but large enough to keep all workers busy.
const leastBatch = 200

// digest goes through the trials that have ended, in the order of orderOf. It stores those that show something new,
// and counts the others.
func (r *run) digest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.search == nil {
		return
	}
	f, done := r.info.Further, r.search.batch
	r.search.batch = nil
	slices.SortFunc(done, func(a, b trial.Done) int { return orderOf(a.Trial.Spec).compare(orderOf(b.Trial.Spec)) })
	for _, d := range done {
		t := d.Trial
		r.planner.corpus.compare(&t)
		f.Trials++
		f.Rounds = max(f.Rounds, t.Spec.Trial-r.info.furtherFrom()+1)
		news, flaw, behaviour := r.search.shown.learn(t)
		if flaw {
			f.LastNewFlaw = f.Trials
		}
		r.search.attends.saw(t, behaviour)
		c := f.cell(t.Spec.Lock, t.Spec.Fault)
		if c.Ran++; behaviour {
			c.LastNew = c.Ran
		}
		switch {
		case d.Kept && news:
			r.place(&t, false)
		case d.Kept:
			r.remove(r.folder(t.Spec))
		}
		if news {
			r.keep(r.under, t)
		} else {
			f.Virtual += t.Virtual
			c.count(t)
		}
	}
	f.sort(r.info.Plan)
}

// round returns trial number k of every cell and workload in which the fault can strike. It leaves
// out workloads whose probe did not finish.
func (p *planner) round(cells []plannedCell, k int) ([]job, error) {
	var jobs []job
	for _, c := range cells {
		for _, w := range c.workloads {
			if _, ok := p.seen[pair{c.recipe.ID, w}]; !ok || c.lack != nil {
				continue
			}
			s, _, err := p.trial(c, w, k)
			switch {
			case errors.Is(err, nemesis.ErrNotSupported):
			case err != nil:
				return nil, err
			default:
				jobs = append(jobs, job{spec: s, further: true})
			}
		}
	}
	return jobs, nil
}

// knowledge is the set of facts that the trials have shown so far. Each fact is about one cell.
type knowledge map[known]bool

// known is a flaw of a cell, or another fact that learn notes, as text.
type known struct{ lock, fault, what string }

// learn adds the facts that a trial shows: flaws, doubts, behaviours, its outcome, the results of oracles,
// and a failure of the harness. news is true if any of these facts was new to the cell, flaw if a flaw was
// new, behaviour if a behaviour was new.
func (k knowledge) learn(t trial.Result) (news, flaw, behaviour bool) {
	add := func(what ...string) (is bool) {
		at := known{t.Spec.Lock, t.Spec.Fault, strings.Join(what, " ")}
		is = !k[at]
		k[at] = true
		news = news || is
		return is
	}
	for _, f := range t.Flaws {
		if add("flaw", f.Oracle, f.Cause) {
			flaw = true
		}
	}
	declared, ofCell := t.Sightings()
	for _, s := range slices.Concat(declared, ofCell) {
		add("sighting", s)
	}
	for _, f := range t.Doubtful {
		add("doubt", f.Oracle, f.Cause)
	}
	for _, f := range t.OfProgram() {
		add("program", f.Oracle, f.Cause)
	}
	for _, v := range t.Verdicts {
		add("oracle", v.Oracle, string(v.Result))
	}
	for _, b := range t.Operations {
		if add("behaviour", b) {
			behaviour = true
		}
	}
	add("order", fmt.Sprint(t.Order()))
	if t.Err != "" {
		add("failure", filepath.ToSlash(trial.Folder(t.Spec)))
	}
	return news, flaw, behaviour
}
