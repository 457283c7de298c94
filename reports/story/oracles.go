package story

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
)

// oracle is what a story knows of the findings of one oracle.
type oracle struct {
	// rank orders oracles by how directly a finding of theirs shows harm, from 1.
	rank int
	// blocks: nobody got in from Finding.From to Finding.To.
	blocks bool
	// overlaps: several held the lock from Finding.From on.
	overlaps bool
	// breaks: the code under test ended the trial.
	breaks bool
	// fences: a hold counts even if it was over at once, for its fencing token.
	fences bool
	// reenters: a client entered a lock that it believed to hold.
	reenters bool
	// harm completes the step that tells the violation itself; false if another step tells
	// it. nil: the summary of the finding is that step.
	harm func(t *teller, s *Step) bool
}

// oracles are those that stories know something of, by name.
var oracles = map[string]oracle{
	"exclusion":  {rank: 1, overlaps: true, harm: (*teller).overlapHarm},
	"resource":   {rank: 2, harm: (*teller).resourceHarm},
	"reentrancy": {rank: 3, reenters: true, harm: (*teller).plainHarm},
	"extension":  {rank: 4},
	"ownership":  {rank: 5, harm: (*teller).ownershipHarm},
	"fencing":    {rank: 6, fences: true, harm: (*teller).fencingHarm},
	"conduct":    {rank: 7, breaks: true},
	"liveness":   {rank: 8, blocks: true, harm: func(*teller, *Step) bool { return false }},
}

// oracleOf is what is known of an oracle; an unknown one comes last.
func oracleOf(name string) oracle {
	if o, ok := oracles[name]; ok {
		return o
	}
	return oracle{rank: len(oracles) + 1}
}

// Rank orders oracles by how directly a finding of theirs shows harm, from 1; an unknown
// one comes last.
func Rank(name string) int { return oracleOf(name).rank }

// Blocks says whether the finding is that nobody got in.
func (f Finding) Blocks() bool { return f.oracle.blocks }

// Overlaps says whether the finding is that several held the lock at one time.
func (f Finding) Overlaps() bool { return f.oracle.overlaps }

// Breaks says whether the finding is that the code under test ended the trial.
func (f Finding) Breaks() bool { return f.oracle.breaks }

// harm tells the violation itself, unless another step does.
func (t *teller) harm() []Step {
	x := t.Finding
	s := Step{At: x.From, Weight: turning, Text: Words.Summary(x.Finding)}
	if tell := x.oracle.harm; tell != nil && !tell(t, &s) {
		return nil
	}
	if s.Text == "" {
		s.Text = x.Oracle + " was violated"
	}
	return []Step{s}
}

// overlapHarm: that an intruder came in is told with his grant.
func (t *teller) overlapHarm(s *Step) bool {
	x := t.Finding
	if slices.ContainsFunc(t.told, t.intruder) {
		return false
	}
	if len(x.Clients) == 2 && x.To > x.From {
		s.Text = fmt.Sprintf("until %s both c%d and c%d believed that they held it", prose.Instant(x.To), x.Clients[1], x.Clients[0])
	}
	return true
}

// resourceHarm: a lost update is told with the values.
func (t *teller) resourceHarm(s *Step) bool {
	if _, ok := t.lostUpdate(); ok {
		return false
	}
	return t.fencingHarm(s)
}

// fencingHarm happens at the end of the finding; the steps before tell why.
func (t *teller) fencingHarm(s *Step) bool {
	s.At = max(t.Finding.From, t.Finding.To)
	return t.plainHarm(s)
}

// ownershipHarm: what a command did to another's key is told with the key.
func (t *teller) ownershipHarm(s *Step) bool {
	x := t.Finding
	if slices.ContainsFunc(t.Events, func(v facts.Event) bool {
		return v.Foreign() && t.concerns(v) && (slices.Contains(x.Commands, v.Command) || (v.At-x.From).Abs() < 5*time.Millisecond)
	}) {
		return false
	}
	return t.plainHarm(s)
}

// plainHarm says what happened, and not why.
func (t *teller) plainHarm(s *Step) bool {
	s.Text = Words.What(t.Finding.Finding)
	return true
}
