package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/testbed"
)

// tested lists what a campaign tested, and on which testbed and nodes.
func (r result) tested() []fact {
	facts := []fact{
		{"result", r.countWords()},
		{"operations", r.amountWords()},
		{"faults", r.struckWords()},
		{"seed", r.seedWords()},
		{"corpus", r.corpusWords()},
		{"testbed", r.testbedWords()},
		{"topology", r.topologyWords()},
		{"stalls", campaign.Stored{Info: r.Info, Trials: r.Trials}.StallWords()},
		{"shrunk", r.shrunkCount()},
		{"persistence", r.durabilityWords()},
		{"TTL", ttlWords(r.Info.Config)},
		{"hold", length(r.Info.Config.Hold)},
		{"disturbed for", length(r.Info.Config.Duration)},
		{"clients", clientWords(r.Info.Config)},
		{"versions", versionWords(r.Info.Versions)},
		{"when", r.whenWords()},
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

// durabilityMeanings say what a restarted node keeps, by durability.
var durabilityMeanings = []struct {
	testbed.Durability
	keeps string
}{
	{testbed.Volatile, "nothing"},
	{testbed.EverySec, "all but the last second (appendfsync everysec)"},
	{testbed.Always, "everything (appendfsync always)"},
}

// countWords counts the trials, including those that a search counted without storing.
func (r result) countWords() string {
	all, violated := len(r.Trials), 0
	for _, t := range r.Trials {
		if t.Violation() {
			violated++
		}
	}
	if f := r.Info.Further; f != nil {
		for _, c := range f.Cells {
			all, violated = all+c.Trials, violated+c.Violations
		}
	}
	return fmt.Sprintf("%d %s, %d with a violation", all, wording.Plural(all, "trial"), violated)
}

// amountWords counts the history entries and the Redis commands of all trials.
func (r result) amountWords() string {
	var ops, commands int
	for _, t := range r.Trials {
		ops += t.Ops
		commands += t.Commands
	}
	if ops == 0 {
		return ""
	}
	return fmt.Sprintf("%s entries of histories, %s Redis commands", grouped(ops), grouped(commands))
}

// struckWords counts the trials whose fault struck something.
func (r result) struckWords() string {
	var disturbed, struck int
	for _, t := range r.Trials {
		if len(t.Spec.Plan) > 0 {
			disturbed++
			if t.Hits > 0 {
				struck++
			}
		}
	}
	if disturbed == 0 {
		return "no trial was disturbed"
	}
	return fmt.Sprintf("struck something in %d of %d disturbed %s", struck, disturbed, wording.Plural(disturbed, "trial"))
}

func (r result) seedWords() string {
	text := strconv.FormatUint(r.Matrix.Seed, 10)
	named := slices.ContainsFunc(r.Matrix.Cells, func(c campaign.Cell) bool { return c.Enumerated > 0 })
	if named {
		text += "; named schedules need none"
	}
	if n := r.Info.Config.Trials; n > 0 {
		text += fmt.Sprintf("; it drew %d %s for each cell and workload", n, wording.Plural(n, "trial"))
	}
	return text
}

// corpusWords says what the corpus chose, and how the results differ from it; "" if the campaign had
// no corpus.
func (r result) corpusWords() string {
	parts := r.Info.CorpusLines()
	if n := len(r.Matrix.New); n > 0 {
		d := r.Matrix.New[0]
		parts = append(parts, fmt.Sprintf("%d %s that the corpus does not have, such as %s by %s of %s under %s", n, wording.Plural(n, "flaw"), d.Oracle, d.Cause, d.Lock, d.Fault))
	}
	if n := len(r.Matrix.Lost); n > 0 {
		parts = append(parts, fmt.Sprintf("%d corpus %s did not come out", n, wording.Plural(n, "fact")))
	}
	return strings.Join(append(parts, r.Info.ChangedLines(r.Matrix.Changed)...), "; ")
}

func (r result) testbedWords() string {
	switch {
	case r.Info.Versions.Redis != "":
		return fmt.Sprintf("%s, on Redis %s", r.Matrix.Testbed, r.Info.Versions.Redis)
	case r.Info.Deterministic:
		text := r.Matrix.Testbed + ": nodes that answer as Redis does, in virtual time; no redis-server took part, and each trial can be run again, byte for byte"
		var varying []string
		for _, v := range r.Matrix.Varying {
			varying = append(varying, v.Lock)
		}
		if slices.Sort(varying); len(varying) > 0 {
			text += ", but those of " + wording.List(slices.Compact(varying))
		}
		return text
	}
	return r.Matrix.Testbed
}

// topologyWords lists the arrangements of nodes that the trials ran on.
func (r result) topologyWords() string {
	nodes := map[testbed.Topology]int{}
	for _, t := range r.Trials {
		if t.Spec.Topology != "" {
			nodes[t.Spec.Topology] = max(nodes[t.Spec.Topology], t.Spec.Nodes)
		}
	}
	var all []string
	for _, topology := range slices.Sorted(maps.Keys(nodes)) {
		text := string(topology)
		if n := nodes[topology]; n > 0 {
			text += fmt.Sprintf(" (%d nodes)", n)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// durabilityWords lists what restarted nodes kept in this campaign.
func (r result) durabilityWords() string {
	seen := map[testbed.Durability]bool{}
	for _, t := range r.Trials {
		for _, a := range t.Spec.Plan {
			seen[a.Durability] = true
		}
	}
	var all []string
	for _, d := range durabilityMeanings {
		if seen[d.Durability] {
			all = append(all, d.keeps)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "restarted nodes kept " + strings.Join(all, ", or ")
}

// ttlWords gives the lease time and the other times that derive from it.
func ttlWords(c campaign.Config) string {
	if c.TTL <= 0 {
		return ""
	}
	text := wording.Length(c.TTL)
	var follow []string
	for _, x := range []struct {
		what    string
		follows bool
	}{
		{fmt.Sprintf("work under the lock (%s)", wording.Length(cmp.Or(c.Hold, c.TTL/10))), c.Hold == 0},
		{fmt.Sprintf("pauses between critical sections (%s)", wording.Length(cmp.Or(c.Rest, c.TTL/20))), c.Rest == 0},
		{fmt.Sprintf("the clients' patience for a reply (%s)", wording.Length(cmp.Or(c.CommandTimeout, c.TTL/2))), c.CommandTimeout == 0},
		{"the lengths of faults", true},
	} {
		if x.follows {
			follow = append(follow, x.what)
		}
	}
	return text + "; " + wording.List(follow) + " are multiples of it, so that a schedule strikes at the same point of the protocol under another TTL"
}

func clientWords(c campaign.Config) string {
	if c.Clients <= 0 && !c.Trusting {
		return ""
	}
	var all []string
	if c.Clients > 0 {
		all = append(all, fmt.Sprintf("%d on %d %s", c.Clients, c.Keys, wording.Plural(c.Keys, "key")))
	}
	if c.Trusting {
		all = append(all, "trusting: they ignore deadlines and lost leases")
	}
	return strings.Join(all, "; ")
}

func versionWords(v campaign.Versions) string {
	var all []string
	for _, x := range [][2]string{{"lockstorm", v.Lockstorm}, {"Go", v.Go}} {
		if x[1] != "" {
			all = append(all, x[0]+" "+x[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Libraries)) {
		all = append(all, name+" "+v.Libraries[name])
	}
	return strings.Join(all, ", ")
}

const projectURL = "https://github.com/lockstorm/lockstorm"

// projectWords names the project, the version that ran the campaign, and its commit.
func projectWords(v campaign.Versions) string {
	commit := v.Commit
	if commit != "" {
		commit = "commit " + commit
	}
	return joinWords(" · ", projectURL, v.Lockstorm, commit)
}

// whenWords says when the campaign ran, and how long it took, in real time and in virtual time.
func (r result) whenWords() string {
	var started, took, virtual string
	if !r.Info.Started.IsZero() {
		started = r.Info.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if r.Info.Elapsed > 0 {
		took = "took " + Roughly(r.Info.Elapsed)
		if d := (campaign.Stored{Trials: r.Trials}).Virtual(); d > 0 {
			virtual = "virtual time " + Roughly(d)
		}
	}
	return joinWords(", ", started, took, virtual)
}

// length writes a length of time; "" for none.
func length(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return wording.Length(d)
}

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Unjudged counts the cells and trials that were not judged; "" if there are none.
func (v view) Unjudged() string {
	var all []string
	add := func(n int, words string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, words))
		}
	}
	cells := map[string]int{}
	for _, t := range v.Tally {
		cells[t.Class] = t.Count
	}
	add(len(v.Failed), wording.Plural(len(v.Failed), "trial")+" that the harness could not finish")
	add(len(v.Varying), wording.Plural(len(v.Varying), "recipe")+" not replayable byte for byte")
	add(cells["unknown"], wording.Plural(cells["unknown"], "cell")+" unknown")
	add(len(v.Undecided), wording.Plural(len(v.Undecided), "cell")+" with undecided trials")
	add(cells["idle"], wording.Plural(cells["idle"], "cell")+" whose fault struck nothing")
	add(cells["unsupported"], wording.Plural(cells["unsupported"], "cell")+" not supported")
	return strings.Join(all, ", ")
}

// Doubts reports whether any of these exists: a trial that the harness could not finish, a recipe that
// is not replayable byte for byte, an unknown cell, or an openCell.
func (v view) Doubts() bool {
	return len(v.Failed)+len(v.Varying)+len(v.Unknown)+len(v.Undecided) > 0
}
