package checker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
)

// Result is the answer of an oracle for one property in one trial.
type Result string

// Results. Violated outranks Unknown, which outranks Held.
const (
	Violated      Result = "violated"       // a violation was found, and counts
	Held          Result = "holds"          // no violation was found
	Unknown       Result = "unknown"        // the evidence leaves the question open
	NotApplicable Result = "not applicable" // the property is not claimed, or there is nothing to judge
)

// Finding is one violation of one property.
type Finding struct {
	Cause Cause `json:"cause"`
	// Summary states the finding in one plain sentence, with times since the trial's
	// start. Summary and Broken are made from Account.
	Summary string `json:"summary"`
	Lock    string `json:"lock,omitempty"`
	// Broken is the assumption about leases that did not hold in this trial, in one plain
	// clause with names and times. If it is "", all assumptions held and the recipe itself
	// is at fault.
	Broken string `json:"broken,omitempty"`
	// Clients are the clients concerned. In a conflict between two clients, the one that
	// came second (the intruder) is the first in the list.
	Clients []int `json:"clients,omitempty"`
	// From and To bound the violation on the history's clock; To is at most
	// the time of the history's last entry.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	// Ops and Commands are the indices of the operations and commands that prove the
	// finding, ascending.
	Ops      []int `json:"ops,omitempty"`
	Commands []int `json:"commands,omitempty"`
	// Account is the content of the finding as data.
	Account account.Account `json:"account,omitzero"`
	// Forever: no client will ever get the lock again (liveness).
	Forever bool `json:"forever,omitempty"`

	// lasted is the length of an overlap, which may go on beyond the history's end.
	lasted time.Duration
	// atAnyPace: the blocking key was left behind for a reason other than a timeout.
	atAnyPace bool
}

// Verdict is one oracle's answer for one trial.
type Verdict struct {
	Oracle string `json:"oracle"`
	Result Result `json:"result"`
	// Findings are set for a violation, in order of From; those of Linearizable are in order of Lock.
	Findings []Finding `json:"findings,omitempty"`
	// LeftOut counts further findings; each has the same cause as one of Findings. Only a
	// campaign's list of trials leaves findings out.
	LeftOut int `json:"leftOut,omitempty"`
	// Doubtful are findings that do not count, one for each cause. A stall of the harness itself may have
	// caused them, or an election that no fault had provoked. Only another run can decide.
	Doubtful []Finding `json:"doubtful,omitempty"`
	// Reasons explain every result other than a plain violated or holds. Why states the
	// reasons in words.
	Reasons []account.Fact `json:"reasons,omitempty"`
	Why     string         `json:"why,omitempty"`
}

// Oracle decides one property.
type Oracle struct {
	Name string // "exclusion"
	Doc  string // the property, in one sentence
	Harm Harm   // the kind of harm that its findings show; see HarmOf
	// Rank orders all oracles by how directly their findings show harm; 1 is the most
	// direct.
	Rank int
	// OfProgram: findings are flaws of the clients' program and not of the lock.
	OfProgram bool
	// AlwaysApplies: the oracle judges the code under test, even if no client took the
	// lock.
	AlwaysApplies bool
	// OfModel: the oracle judges by a model that the user names (Linearizable). The
	// function Judge does not ask it, and recipes do not declare its findings.
	OfModel bool
	// NeedsTimes and NeedsOrder: the oracle can judge only with recorded times, or only
	// with the order in which the resource saw its operations (history.Op.Seq).
	NeedsTimes, NeedsOrder bool
	// Judge is a pure function of the evidence. It never panics, and returns Unknown if ctx ends before
	// a violation is found.
	Judge func(ctx context.Context, e history.Evidence) Verdict

	// judge does what Judge does, on evidence that was already prepared. Its error wraps
	// ErrDisagree.
	judge func(context.Context, *Case) (Verdict, error)
}

// Harm is the kind of harm that the findings of an oracle show. It selects how stories and
// timelines present a finding. Without a Harm they show Finding.Summary.
type Harm string

// The kinds of harm that findings show.
const (
	HarmOverlap  Harm = "overlap"  // from Finding.From on, several clients believed that they held the lock
	HarmWork     Harm = "work"     // the guarded resource took damage, seen at Finding.To
	HarmFence    Harm = "fence"    // a fence did not grow, was missing or was old, seen at Finding.To
	HarmGrant    Harm = "grant"    // a command ended or changed another owner's grant
	HarmReentry  Harm = "reentry"  // nested acquires or releases of a reentrant lock went wrong
	HarmEnd      Harm = "end"      // the code under test ended the trial
	HarmAnswer   Harm = "answer"   // an operation denied what its commands had done, seen at Finding.To
	HarmBlockage Harm = "blockage" // waiting clients did not get the lock from Finding.From to Finding.To
)

// HarmOf returns the kind of harm that the oracle's findings with this cause show.
func (o Oracle) HarmOf(c Cause) Harm {
	if o.Harm != HarmEnd {
		return o.Harm
	}
	return cmp.Or(c.row().harm, o.Harm)
}

// ErrDisagree means that the sweep and porcupine gave different answers for one history.
// The checker is wrong, and no verdict of that trial can be trusted.
var ErrDisagree = errors.New("sweep and porcupine disagree")

// oracles returns the table of oracles in the order of reports. Callers do not change it.
var oracles = sync.OnceValue(func() []Oracle {
	return []Oracle{
		{Name: "exclusion", Rank: 1, Harm: HarmOverlap, judge: exclusion,
			Doc: "no two clients believe at once that they hold a lock; of a read-write lock, readers may share it"},
		{Name: "resource", Rank: 3, Harm: HarmWork, NeedsOrder: true, judge: agreed(resource),
			Doc: "no update is lost, and no other owner's operation comes between two of one critical section"},
		{Name: "fencing", Rank: 7, Harm: HarmFence, judge: fencing,
			Doc: "a later grant has a greater fence, and the resource never accepts an older fence after a newer one"},
		{Name: "ownership", Rank: 6, Harm: HarmGrant, judge: agreed(ownership),
			Doc: "no command ends another owner's grant, or changes its life, while that grant certainly stands"},
		{Name: "liveness", Rank: 9, Harm: HarmBlockage, NeedsTimes: true, judge: agreed(liveness),
			Doc: "after a crash, and after everything heals, waiting clients get in within the recipe's recovery time"},
		{Name: "reentrancy", Rank: 4, Harm: HarmReentry, judge: agreed(reentrancy),
			Doc: "n acquires need n releases, and no client re-enters a lock that another client definitely holds"},
		{Name: "extension", Rank: 5, judge: agreed(extension),
			Doc: "an extension succeeds only if no other client was granted the lock after the holder"},
		{Name: "conduct", Rank: 8, Harm: HarmEnd, AlwaysApplies: true, judge: agreed(conduct),
			Doc: "the code under test does not deadlock or panic, comes to an end, and does not deny what its own commands certainly did"},
		{Name: "draws", Rank: 10, OfProgram: true, judge: agreed(draws),
			Doc: "a later holder of the lock does not repeat work that is to be done once"},
	}
})

// agreed adapts a judge that never returns an error.
func agreed(judge func(context.Context, *Case) Verdict) func(context.Context, *Case) (Verdict, error) {
	return func(ctx context.Context, f *Case) (Verdict, error) { return judge(ctx, f), nil }
}

// ask returns the oracle's verdict, with Verdict.Oracle and Verdict.Why set. If the oracle panics, the
// verdict is unknown. If ctx has ended by the time of the verdict, it is also unknown, unless it is
// Violated: a violation that was found stays proven.
func (o Oracle) ask(ctx context.Context, f *Case) (v Verdict, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = unknown(account.Fact{What: account.OracleCrashed, Text: fmt.Sprint(r)}), nil
		}
		v.Oracle, v.Why = o.Name, v.words()
	}()
	if err := ctx.Err(); err != nil {
		return unknown(account.Fact{What: account.NotJudged, Text: err.Error()}), nil
	}
	if err := f.Sound(); err != nil {
		return impossible(err), nil
	}
	v, err = o.judge(ctx, f)
	v = doubt(f.Evidence, v)
	if cerr := ctx.Err(); cerr != nil && v.Result != Violated {
		v = unknown(account.Fact{What: account.NotJudgedToEnd, Text: cerr.Error()})
	}
	putWords(v.Findings)
	putWords(v.Doubtful)
	return v, err
}

// Oracles returns all oracles in the order of reports.
func Oracles() []Oracle {
	all := slices.Clone(oracles())
	for i, o := range all {
		all[i].Judge = func(ctx context.Context, e history.Evidence) Verdict {
			v, _ := o.ask(ctx, NewCase(e)) // Why also reports a disagreement
			return v
		}
	}
	return all
}

// OracleNamed returns the oracle of that name. Its Judge is nil if it judges by a model.
// For an unknown name it returns an oracle that ranks last and has no Judge.
func OracleNamed(name string) Oracle {
	if o, ok := oraclesByName()[name]; ok {
		return o
	}
	return Oracle{Name: name, Rank: len(oraclesByName()) + 1}
}

var oraclesByName = sync.OnceValue(func() map[string]Oracle {
	byName := map[string]Oracle{}
	for _, o := range append(Oracles(), byModel) {
		byName[o.Name] = o
	}
	return byName
})

// Judge asks every oracle, in the order of Oracles. An error wraps ErrDisagree and says
// which answers differed; even then the verdicts are complete.
func Judge(ctx context.Context, e history.Evidence) ([]Verdict, error) { return NewCase(e).Judge(ctx) }

// Judge does what the function Judge does, on this case.
func (c *Case) Judge(ctx context.Context) ([]Verdict, error) { return judge(ctx, c, oracles()) }

func judge(ctx context.Context, f *Case, all []Oracle) ([]Verdict, error) {
	var verdicts []Verdict
	var errs []error
	for _, o := range all {
		v, err := o.ask(ctx, f)
		verdicts, errs = append(verdicts, v), append(errs, err)
	}
	return verdicts, errors.Join(errs...)
}

// Style makes the sentences of findings from their accounts: see account.Style. A finding
// without an account keeps its own sentences.
type Style account.Style

// plain is the style of Finding.Summary and Finding.Broken.
var plain = Style(account.Plain)

// Summary returns what happened and why, in one sentence.
func (s Style) Summary(f Finding) string {
	if f.Account.What == "" {
		return f.Summary
	}
	return account.Style(s).Summary(f.Account, f.Lock)
}

// What returns what happened, without the reasons.
func (s Style) What(f Finding) string {
	if f.Account.What == "" {
		return f.Summary
	}
	return account.Style(s).What(f.Account, f.Lock)
}

// Broken returns the assumption that did not hold, as one clause; "" if none was broken.
func (s Style) Broken(f Finding) string {
	if f.Account.Broken == nil {
		return f.Broken
	}
	return account.Style(s).Broken(f.Account.Broken)
}

func putWords(findings []Finding) {
	for i, f := range findings {
		findings[i].Summary, findings[i].Broken = plain.Summary(f), plain.Broken(f)
	}
}

// Judged returns a verdict with these reasons and their sentences, for a caller that judged without
// asking an oracle.
func Judged(oracle string, r Result, reasons ...account.Fact) Verdict {
	v := Verdict{Oracle: oracle, Result: r, Reasons: reasons}
	v.Why = v.words()
	return v
}

func unknown(why account.Fact) Verdict { return Verdict{Result: Unknown, Reasons: []account.Fact{why}} }

func notApplicable(why account.Fact) Verdict {
	return Verdict{Result: NotApplicable, Reasons: []account.Fact{why}}
}

func impossible(err error) Verdict {
	return unknown(account.Fact{What: account.HistoryImpossible, Text: err.Error()})
}

// untilDone yields the elements of all until ctx ends.
func untilDone[T any](ctx context.Context, all []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, x := range all {
			if ctx.Err() != nil || !yield(x) {
				return
			}
		}
	}
}

// saying returns the facts that are not empty.
func saying(facts ...account.Fact) (all []account.Fact) {
	for _, f := range facts {
		if f.What != "" {
			all = append(all, f)
		}
	}
	return all
}

// either returns the first fact that is not empty.
func either(facts ...account.Fact) account.Fact {
	for _, f := range facts {
		if f.What != "" {
			return f
		}
	}
	return account.Fact{}
}

// words returns the verdict's reasons as plain sentences. If a reason names a cause as its example
// (Fact.Example), the summary of the doubtful finding with this cause follows.
func (v Verdict) words() string {
	var said []string
	for _, r := range v.Reasons {
		text := account.Plain.Say(r)
		for _, f := range v.Doubtful {
			if r.Example != "" && string(f.Cause) == r.Example {
				text += ": " + plain.Summary(f)
				break
			}
		}
		said = append(said, text)
	}
	return strings.Join(said, "; ")
}
