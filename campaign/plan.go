package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// plannedCell is a cell with what the planner decided about it.
type plannedCell struct {
	recipe    locks.Recipe
	fault     nemesis.Fault
	topology  testbed.Topology
	workloads []string
	variants  int                  // number of variants of the fault's plans, in the workload with the most
	named     int                  // number of named schedules to run, over all workloads
	unlisted  int                  // number of named schedules that the corpus does not have, of those that run
	left      []trial.Spec         // named trials that the corpus leaves out
	own       int                  // number of trials drawn by the campaign's seed, probes included
	others    int                  // number of drawn trials of the corpus
	inShard   int                  // number of trials in this shard; 0 in a whole campaign
	lack      *nemesis.Unsupported // why the cell is not supported; nil = it is supported
}

type job struct {
	spec  trial.Spec
	probe bool
	// earlier is the number of spoilt runs that this run replaces, and stall the longest stall of these.
	earlier int
	stall   time.Duration
	// sampled: the trial is repeated at the end, to check that its history is the same.
	sampled bool
	// further: the trial is one of Config.Budget.
	further bool
}

// pair identifies a probe: each lock has one for each workload.
type pair struct{ lock, workload string }

// planner turns a configuration into cells, and cells into trials.
type planner struct {
	config       Config
	topologies   []testbed.Topology
	capabilities []testbed.Capability
	lacks        map[testbed.Capability]string // reasons for missing capabilities
	without      map[testbed.Topology]string   // reasons for missing topologies
	real         bool                          // the testbed runs on real time
	seen         map[pair]nemesis.Sight        // what the finished probes showed
	confirm      *confirmation                 // the campaign to be confirmed; nil = none
	corpus       *memory                       // the corpus; nil = every cell gets the same trials
	fresh        int                           // trials drawn for each workload of a cell that the corpus does not have
	// schedule enumerates a fault's named schedules in a world.
	schedule func(fault string, w nemesis.World) ([]nemesis.Schedule, error)
}

func newPlanner(c Config, tb testbed.Testbed) *planner {
	p := &planner{
		config: c, topologies: tb.Topologies(), capabilities: tb.Capabilities(),
		real: trial.RealTime(tb), seen: map[pair]nemesis.Sight{}, schedule: nemesis.Named,
	}
	if l, ok := tb.(testbed.Lacking); ok {
		p.lacks = l.Lacks()
	}
	if l, ok := tb.(testbed.Without); ok {
		p.without = l.Without()
	}
	return p
}

// cells returns a cell for every chosen recipe under every chosen fault. With Config.Clean, it
// returns only cells without a declared flaw.
func (p *planner) cells() ([]plannedCell, error) {
	recipes, err := Recipes(p.config.Locks)
	if err != nil {
		return nil, err
	}
	faults, err := chosen("fault", p.config.Faults, nemesis.All(), func(f nemesis.Fault) string { return f.Name })
	if err != nil {
		return nil, err
	}
	bodies, err := chosenWorkloads(p.config.Workloads)
	if err != nil {
		return nil, err
	}
	named, err := namedWorkloads(p.config.Workloads)
	if err != nil {
		return nil, err
	}
	if err := p.checkTopology(); err != nil {
		return nil, err
	}
	var cells []plannedCell
	for _, r := range recipes {
		for _, f := range faults {
			bodies := slices.DeleteFunc(slices.Clone(bodies), func(w workloads.Workload) bool { return !p.runs(w, named, r, f) })
			if c := p.cell(r, f, bodies); !p.config.Clean || c.lack == nil && c.clean() {
				cells = append(cells, c)
			}
		}
	}
	if len(cells) == 0 {
		return nil, input.Errorf("%s: every chosen recipe declares flaws for every chosen fault", input.Setting("clean"))
	}
	return cells, nil
}

// clean says whether the recipe declares no flaw for the fault; for a mix, no flaw at
// all.
func (c plannedCell) clean() bool {
	return !slices.ContainsFunc(c.recipe.Flaws, func(f locks.Flaw) bool {
		return c.fault.Mix || slices.Contains(f.Faults, c.fault.Name) || slices.Contains(f.Also, c.fault.Name)
	})
}

// checkTopology refuses a topology that the testbed does not have.
func (p *planner) checkTopology() error {
	if t := p.config.Topology; t != "" && !slices.Contains(p.topologies, t) {
		return input.Errorf("%s %q: expected one of %s, which testbed %s has", input.Setting("topology"), t, wording.Join(p.topologies), p.config.Testbed)
	}
	return nil
}

// cell plans the cell of one recipe under one fault: its topology and workloads, or why it is not
// supported.
func (p *planner) cell(r locks.Recipe, f nemesis.Fault, bodies []workloads.Workload) plannedCell {
	c := plannedCell{recipe: r, fault: f}
	topology, lack := nemesis.Supported(f, r.Topology, p.topologies, p.capabilities)
	if lack != nil {
		lack.Hint = p.hint(r, f)
		c.lack = lack
		return c
	}
	c.topology = topology
	if t := p.config.Topology; t != "" {
		if other, lack := nemesis.Supported(f, r.Topology, []testbed.Topology{t}, p.capabilities); lack == nil {
			topology = other
		}
		if !covers(t, topology) {
			c.lack = &nemesis.Unsupported{Why: nemesis.OtherTopology, Topology: topology, Chosen: t}
			return c
		}
		c.topology = t
	}
	if c.lack = p.unshared(f, c.topology); c.lack != nil {
		return c
	}
	claims := p.spec(c, "", 0).PromisedBy(r)
	for _, w := range bodies {
		if w.Suits(claims) {
			c.workloads = append(c.workloads, w.Name)
		}
	}
	if len(c.workloads) == 0 {
		c.lack = &nemesis.Unsupported{Why: nemesis.NoWorkload}
	}
	return c
}

// covers says whether one topology (have) offers everything that another one (need) offers.
func covers(have, need testbed.Topology) bool {
	switch have {
	case need:
		return true
	case testbed.Replicated:
		return need == testbed.Single
	case testbed.Sentinel, testbed.Cluster:
		return need == testbed.Single || need == testbed.Replicated
	}
	return false
}

// spec returns trial number k of a cell under a workload, without its plan.
func (p *planner) spec(c plannedCell, workload string, k int) trial.Spec {
	conf := p.config
	seed := conf.Seed
	if c.fault.Undisturbed && k == 0 {
		seed = fixedSeed // this is the probe: it does not depend on the campaign's seed
	}
	s := trial.Spec{
		Lock:           c.recipe.ID,
		Workload:       workload,
		Fault:          c.fault.Name,
		Testbed:        conf.Testbed,
		Topology:       c.topology,
		Seed:           trialSeed(seed, c.recipe.ID, c.fault.Name, workload, k),
		Trial:          k,
		CommandTimeout: conf.commandTimeout(),
		Timeout:        conf.Timeout,
		ShareLinks:     conf.ShareLinks,
	}
	body, _ := workloads.ByName(workload)
	conf.clients(&s)
	if c.topology == testbed.Independent {
		s.Nodes = cmp.Or(conf.Nodes, trial.DefaultNodes)
	}
	clients := cmp.Or(conf.Clients, body.Clients, defaultClients)
	s.Options = workloads.Options{
		Clients: clients,
		Keys:    max(cmp.Or(conf.Keys, defaultKeys), body.Locks),
		TTL:     conf.TTL,
		Hold:    cmp.Or(conf.Hold, conf.TTL/10),
		Rest:    cmp.Or(conf.Rest, conf.TTL/20),
		Retry:   conf.retry(clients),
		// Leave time for a lost reply and its consequences.
		Duration: conf.Duration + 2*conf.patient(),
		Margin:   conf.TTL/2 + conf.patient(),
		Tokens:   conf.Tokens,
		Trusting: conf.Trusting,
		Seed:     s.Seed,
		Overrun:  conf.Overrun,
	}
	if conf.Overrun < 0 {
		s.Options.Overrun = 0
		if s.PromisedBy(c.recipe).Renews {
			s.Options.Overrun = 0.25
		}
	}
	if c.fault.Mix {
		conf.swarm(&s.Options, s.PromisedBy(c.recipe).Renews)
		s.Options.Keys = max(s.Options.Keys, body.Locks)
	}
	return s
}

// world returns the world of a trial, for which the nemesis makes plans.
func (p *planner) world(s trial.Spec, claims history.Claims) nemesis.World {
	nodes := []string{"n0"}
	for i := 1; i < s.Nodes; i++ {
		nodes = append(nodes, fmt.Sprintf("n%d", i))
	}
	claims.Quorum = claims.NodeQuorum() // the nemesis counts nodes, not keys
	return nemesis.World{
		Clients:        s.Options.Clients,
		Nodes:          nodes,
		Topology:       s.Topology,
		Capabilities:   p.able(s.Topology),
		TTL:            s.Options.TTL,
		Hold:           s.Options.Hold,
		Retry:          s.Options.Retry,
		Duration:       s.Options.Duration,
		CommandTimeout: s.CommandTimeout,
		Sight:          p.seen[pair{s.Lock, s.Workload}],
		Claims:         claims,
	}
}

// probes returns the fault-free trials, one per recipe and workload of the cells. The
// commands of a probe show where faults can strike.
func (p *planner) probes(cells []plannedCell) ([]job, error) {
	var jobs []job
	seen := map[pair]bool{}
	for _, c := range cells {
		for _, w := range c.workloads {
			if at := (pair{c.recipe.ID, w}); seen[at] {
				continue
			} else {
				seen[at] = true
			}
			probe, err := p.probe(c.recipe, w)
			if err != nil {
				return nil, err
			}
			if p.confirm != nil { // the probe may be among the trials to be confirmed
				probe.spec = p.confirm.next(probe.spec)
			}
			jobs = append(jobs, probe)
		}
	}
	return jobs, nil
}

// probe returns the fault-free trial of a recipe under a workload.
func (p *planner) probe(r locks.Recipe, workload string) (job, error) {
	body, _ := workloads.ByName(workload)
	c := p.cell(r, nemesis.Undisturbed(), []workloads.Workload{body})
	if c.lack != nil {
		return job{}, fmt.Errorf("plan a probe of %s: %s", r.ID, c.lack.Error())
	}
	return job{spec: p.spec(c, workload, 0), probe: true}, nil
}

// trial returns trial number k of a cell under a workload, with its plan, and the world for which
// the plan was made. The error wraps nemesis.ErrNotSupported if the fault cannot strike in that
// trial.
func (p *planner) trial(c plannedCell, workload string, k int) (trial.Spec, nemesis.World, error) {
	s := p.spec(c, workload, k)
	if probe := c.fault.Undisturbed && k == 0; !p.real && !probe {
		p.config.pace(&s.Options)
	}
	world := p.world(s, s.PromisedBy(c.recipe))
	plan, err := nemesis.New(s.Seed, []string{s.Fault}, world, k)
	switch {
	case errors.Is(err, nemesis.ErrNotSupported):
		return s, world, err
	case err != nil:
		return s, world, fmt.Errorf("plan %s under %s: %w", s.Lock, s.Fault, err)
	}
	s.Plan, s.Durability = plan, plan.Durability()
	return s, world, nil
}

// drop removes a workload from the cell; without workloads, the cell is not supported.
func (c *plannedCell) drop(workload string, why *nemesis.Unsupported) {
	c.workloads = slices.DeleteFunc(c.workloads, func(w string) bool { return w == workload })
	if len(c.workloads) == 0 {
		c.lack = why
	}
}

// planned describes the cells for campaign.json.
func planned(cells []plannedCell) []PlannedCell {
	var all []PlannedCell
	for _, c := range cells {
		all = append(all, PlannedCell{Lock: c.recipe.ID, Fault: c.fault.Name, Workloads: c.workloads, Variants: c.variants, Named: c.named, Unlisted: c.unlisted, Skipped: len(c.left), Drawn: c.own, Corpus: c.others, InShard: c.inShard, NotSupported: c.lack})
	}
	return all
}
