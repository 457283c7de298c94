package campaign

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// How much a campaign looks for what the corpus does not know. The corpus alone fixes these numbers,
// never the results of the running campaign.
const (
	// cleanDrawn is the number of drawn trials in a cell in which no trial of the corpus is violated,
	// unless the corpus asks for more. 60 exercised trials without a violation bound the share of
	// violated ones to 4.9 % (Cell.Bound).
	cleanDrawn = 64
	// otherDrawn and otherNamed are the numbers of drawn trials, and of named schedules outside the
	// corpus, in every other cell that the corpus has.
	otherDrawn = 3
	otherNamed = 3
	// firstFresh is the number of the first trial that a campaign with a corpus draws. The trials before it
	// are those of a thorough campaign: some of them may have been selected for the corpus.
	firstFresh = 12
)

// memory is the corpus as a campaign uses it.
type memory struct {
	lines map[corpus.Key]corpus.Line
	cells map[cellFlaw]*memorized // by lock and fault
	// changed has the recipes whose fault-free trials have other histories than when the corpus was made. A
	// campaign runs every named schedule of these.
	changed map[string]bool
	// replayed: the lines are run again to be compared, also those of changed recipes.
	replayed bool
	// adapted: the campaign's options are not those of the corpus.
	adapted bool
	// rank orders the names of schedules by what they taught, over all recipes (ranks).
	rank map[corpus.Schedule]int
}

// memorized is what the corpus has of one cell.
type memorized struct {
	lines    []corpus.Line
	violated bool            // a line's trial is violated
	flaws    map[string]bool // oracle and cause of the lines' flaws
	draw     int             // the number of trials to draw in a cell without a violation
}

// newMemory checks that everything that the lines name exists, and indexes them. The error is an
// input.Error that names the file and the line.
func newMemory(list corpus.List, c Config) (*memory, error) {
	m := &memory{lines: map[corpus.Key]corpus.Line{}, cells: map[cellFlaw]*memorized{}, changed: map[string]bool{}}
	m.adapted = len(c.flags()) > 0 || !slices.Contains(trimmed(c.Workloads), standardNames)
	for _, l := range list {
		if err := exists(l); err != nil {
			return nil, err
		}
		m.lines[l.Key()] = l
		at := cellFlaw{lock: l.Lock, fault: l.Fault}
		cell := m.cells[at]
		if cell == nil {
			cell = &memorized{flaws: map[string]bool{}, draw: cleanDrawn}
			m.cells[at] = cell
		}
		cell.lines, cell.draw = append(cell.lines, l), max(cell.draw, l.Draw)
		for _, f := range l.Facts() {
			if corpus.IsFlaw(f) {
				cell.violated, cell.flaws[corpus.FlawKey(f)] = true, true
			}
		}
	}
	var err error
	m.rank, err = builtinRank()
	return m, err
}

// exists returns an input.Error if a line names a lock, fault or workload that does not exist.
func exists(l corpus.Line) error {
	_, lock := locks.ByID(l.Lock)
	_, fault := nemesis.ByName(l.Fault)
	_, workload := workloads.ByName(l.Workload)
	for _, name := range []struct {
		what, name string
		ok         bool
	}{{"lock", l.Lock, lock}, {"fault", l.Fault, fault}, {"workload", l.Workload, workload}} {
		if !name.ok && name.what == "lock" {
			return input.Errorf("corpus %s: there is no lock %q: remove the file of a recipe that is gone", l.At(), name.name)
		}
		if !name.ok {
			return input.Errorf("corpus %s: there is no %s %q: lockstorm corpus make --locks %s writes the list anew", l.At(), name.what, name.name, l.Lock)
		}
	}
	return nil
}

// ranks returns the place of each schedule in the order: 0 = first.
func ranks(order []corpus.Schedule) map[corpus.Schedule]int {
	rank := make(map[corpus.Schedule]int, len(order))
	for i, s := range order {
		rank[s] = i
	}
	return rank
}

// of returns what the corpus has of a cell; nil if the cell's trials are chosen as if there were no
// corpus: the corpus has no line of the cell, the recipe has changed, or the user chose workloads that the
// corpus does not have.
func (m *memory) of(c plannedCell) *memorized {
	if m == nil || m.changed[c.recipe.ID] && !m.replayed {
		return nil
	}
	cell := m.cells[cellFlaw{lock: c.recipe.ID, fault: c.fault.Name}]
	if cell == nil || slices.ContainsFunc(c.workloads, func(w string) bool {
		body, _ := workloads.ByName(w)
		return !body.Standard
	}) {
		return nil
	}
	return cell
}

// numbers returns the numbers of the trials that the campaign draws for workload i of a cell.
func (p *planner) numbers(c plannedCell, i int) (ks []int) {
	n, from, cell := p.config.Trials, 0, p.corpus.of(c)
	switch {
	case n > 0 || p.corpus == nil: // the user chose the number, or there is no corpus
	case cell == nil:
		n = p.fresh
	case !cell.violated:
		n, from = (cell.draw+len(c.workloads)-1)/len(c.workloads), firstFresh
	default:
		n, from = otherDrawn/len(c.workloads), firstFresh
		if i < otherDrawn%len(c.workloads) {
			n++
		}
	}
	for k := range n {
		ks = append(ks, from+k)
	}
	return ks
}

// remembered returns the drawn trials of the corpus for a cell's workload.
func (p *planner) remembered(c *plannedCell, workload string) (specs []trial.Spec, err error) {
	cell := p.corpus.of(*c)
	if cell == nil || p.corpus.adapted {
		return nil, nil
	}
	for _, l := range cell.lines {
		if l.Workload != workload || l.Schedule != "" || l.Seed == 0 { // seed 0: the line of a probe
			continue
		}
		then := *p
		then.config.Seed = l.Seed
		s, _, err := then.trial(*c, workload, l.Trial)
		if err != nil {
			return nil, input.Errorf("corpus %s: %w: lockstorm corpus make --locks %s writes the list anew", l.At(), err, l.Lock)
		}
		s.DrawnFrom = l.Seed
		specs = append(specs, s)
		c.others++
	}
	return specs, nil
}

// selected returns the named trials of a cell that the campaign runs, of the lists of all its named
// trials: those of the corpus and, where the corpus has a violation, a few others that the seed
// chooses. A cell that the corpus does not have keeps all its trials, in the order of rank.
func (p *planner) selected(c *plannedCell, lists [][]trial.Spec) ([][]trial.Spec, error) {
	cell := p.corpus.of(*c)
	if cell == nil {
		for _, specs := range lists {
			p.corpus.sort(specs)
			c.unlisted += len(specs)
		}
		return lists, nil
	}
	var others []trial.Spec
	for i, specs := range lists {
		var kept []trial.Spec
		for _, s := range specs {
			if _, ok := p.corpus.lines[corpus.KeyOf(s)]; ok {
				kept = append(kept, s)
			} else {
				others = append(others, s)
			}
		}
		lists[i] = kept
	}
	if !cell.violated {
		c.left = others
		return lists, nil
	}
	r := rand.New(rand.NewPCG(seedOf(p.config.Seed, c.recipe.ID, c.fault.Name, "", "named"), 0))
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	n := min(otherNamed, len(others))
	c.left, c.unlisted = others[n:], n
	return append(lists, others[:n]), nil
}

// MostTelling sorts the trials of a lock that the program's corpus does not have: first the named schedules
// that taught most across the recipes of the corpus, then the other named schedules in their order, then
// drawn trials. The error is that of corpus.BuiltinOrder.
func MostTelling(specs []trial.Spec) error {
	rank, err := builtinRank()
	if err != nil {
		return err
	}
	(&memory{rank: rank}).sort(specs)
	return nil
}

var builtinRank = sync.OnceValues(func() (map[corpus.Schedule]int, error) {
	order, err := corpus.BuiltinOrder()
	return ranks(order), err
})

// complete returns an input.Error if a line of a cell is none of the planned trials. A workload whose probe
// failed has no plans; that failure is reported already.
func (m *memory) complete(p *planner, cells []plannedCell, jobs []job) error {
	if m == nil || m.adapted {
		return nil
	}
	planned := map[corpus.Key]bool{}
	for _, j := range jobs {
		planned[corpus.KeyOf(j.spec)] = true
	}
	for _, c := range cells {
		cell := m.of(c)
		if cell == nil || m.changed[c.recipe.ID] { // its schedules may be others
			continue
		}
		for _, l := range cell.lines {
			probe := c.fault.Undisturbed && l.Schedule == "" && l.Seed == 0
			failed := slices.Contains(c.workloads, l.Workload) && !p.probed(c, l.Workload)
			if !planned[l.Key()] && !failed && !(probe && slices.Contains(c.workloads, l.Workload)) {
				return input.Errorf("corpus %s: there is no such trial: %s: lockstorm corpus make --locks %s writes the list anew", l.At(), l.Title(), l.Lock)
			}
		}
	}
	return nil
}

// sort puts the named trials of a recipe without lines in the order of rank; those that the corpus
// does not have come last, in their own order.
func (m *memory) sort(specs []trial.Spec) {
	rank := func(s trial.Spec) int {
		if at, ok := m.rank[corpus.Schedule{Fault: s.Fault, Workload: s.Workload, Name: s.Schedule}]; ok {
			return at
		}
		return len(m.rank)
	}
	slices.SortStableFunc(specs, func(a, b trial.Spec) int { return cmp.Compare(rank(a), rank(b)) })
}

// compare notes how a judged trial differs from the corpus. Its verdicts must be complete.
func (m *memory) compare(t *trial.Result) {
	if m == nil || m.adapted || t.Err != "" {
		return
	}
	cell := m.cells[cellFlaw{lock: t.Spec.Lock, fault: t.Spec.Fault}]
	if cell == nil {
		return
	}
	for _, f := range t.Flaws {
		if !cell.flaws[fmt.Sprintf("%s by %s", f.Oracle, f.Cause)] {
			t.New = append(t.New, f)
		}
	}
	line, ok := m.lines[corpus.KeyOf(t.Spec)]
	if !ok {
		return
	}
	t.Headline = line.Minimal != nil
	t.Changed = line.Hash != "" && !strings.HasPrefix(t.Hash, line.Hash)
	shown := corpus.Facts(*t)
	for _, f := range line.For {
		if !slices.Contains(shown, f) {
			t.Missing = append(t.Missing, f)
		}
	}
}

// headline says whether reports show the trial, because the corpus has it for its cell.
func (m *memory) headline(s trial.Spec) bool {
	return m != nil && !m.adapted && m.lines[corpus.KeyOf(s)].Minimal != nil
}

// CorpusLines says in sentences without a full stop what a campaign with a corpus ran and left out;
// none if the campaign had no corpus.
func (i Info) CorpusLines() (lines []string) {
	if !i.Config.Corpus {
		return nil
	}
	named, unlisted, drawn, taken, skipped := 0, 0, 0, 0, 0
	for _, p := range i.Plan {
		if p.Fault == nemesis.Undisturbed().Name {
			drawn -= min(len(p.Workloads), p.Drawn) // the first trial of each workload is a probe
		}
		named, unlisted, drawn, taken, skipped = named+p.Named, unlisted+p.Unlisted, drawn+p.Drawn, taken+p.Corpus, skipped+p.Skipped
	}
	named -= unlisted
	known := named+taken+skipped > 0 // the corpus has something of these recipes, faults and workloads
	if known {
		chosen := fmt.Sprintf("%d named %s", named, wording.Plural(named, "schedule"))
		if taken > 0 {
			chosen += fmt.Sprintf(" and %d drawn %s", taken, wording.Plural(taken, "trial"))
		}
		without, left := "", []string{}
		if i.Probes > 0 {
			without = fmt.Sprintf("%d fault-free %s, ", i.Probes, wording.Plural(i.Probes, "probe"))
		}
		if i.Config.Shard.Part() {
			chosen += " (in all shards together)"
		}
		if skipped > 0 {
			left = append(left, fmt.Sprintf("%d named %s", skipped, wording.Plural(skipped, "schedule")))
		}
		if i.Config.Trials == 0 {
			left = append(left, "drawn trials of cells whose verdict is known")
		}
		text := fmt.Sprintf("of the corpus: %s; beside it %d other named %s, %sand %d trials drawn by seed %d",
			chosen, unlisted, wording.Plural(unlisted, "schedule"), without, drawn, i.Config.Seed)
		if len(left) > 0 {
			text += ". Left out: " + strings.Join(left, ", and ") + "; --thorough runs all"
		}
		lines = append(lines, text)
	}
	own := func(id string) bool {
		r, ok := locks.ByID(id)
		return ok && r.Own
	}
	if i.Adapted && slices.ContainsFunc(i.Config.Locks, func(id string) bool { return !own(id) }) {
		usual := DefaultConfig()
		usual.Faults = i.Config.Faults
		says := "the options are not the defaults: named schedules of the corpus were planned anew, its drawn trials were left out, and its facts were not expected"
		if !known {
			says = "the options are not the defaults: every named schedule ran, and no fact of the corpus was expected"
		}
		lines = append(lines, says, "with these options a recipe that has changed since the corpus was made is not noticed; it is with the defaults: "+usual.command(i.Config.Locks))
	}
	return lines
}
