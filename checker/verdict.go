package checker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Result is what an oracle found, for one property in one trial.
type Result string

// Results. Violated outranks Unknown, which outranks Held. (Holds lists believed
// holds; hence the name of the result "holds".)
const (
	Violated      Result = "violated"
	Held          Result = "holds"
	Unknown       Result = "unknown"
	NotExercised  Result = "not exercised"
	NotApplicable Result = "not applicable"
)

// Cause is why a property was violated, as the wire evidence tells it.
type Cause string

// Causes.
const (
	Race           Cause = "race"            // two grants by the protocol itself
	ForeignDelete  Cause = "foreign-delete"  // somebody else's DEL freed the lock under its holder
	ForeignRenewal Cause = "foreign-renewal" // somebody else's EXPIRE prolonged it
	RenewalFailed  Cause = "renewal-failed"  // the watchdog stopped, or came too late, under its holder
	LeaseOutlived  Cause = "lease-outlived"  // the key expired under a believer
	ServerLostKey  Cause = "server-lost-key" // failover, restart, eviction
	ServerClock    Cause = "server-clock"    // a node's wall clock jumped
	ClientClock    Cause = "client-clock"    // a client's wall clock was wrong
	NoExpiry       Cause = "no-expiry"       // a key without TTL outlived its owner
	LateCommand    Cause = "late-command"    // a ghost of an earlier attempt
	FenceRegressed Cause = "fence-regressed" // a later grant got a smaller fence
	OrphanedKey    Cause = "orphaned-key"    // a key with a TTL, whose owner crashed or never learnt of its grant, kept others out until it expired
	Starved        Cause = "starved"         // the lock went round among others, and one who waited never got it
	CrossSlot      Cause = "cross-slot"      // a Redis Cluster refused a command whose keys are in different slots
	Deadlock       Cause = "deadlock"        // the code under test: everything waits, and nothing will ever come
	Panic          Cause = "panic"           // the code under test panicked
	Runaway        Cause = "runaway"         // the code under test did not come to an end
	Unclassified   Cause = "unclassified"    // cannot be told apart
)

// Causes returns every cause that a Finding may carry, in the order of the
// documentation.
func Causes() []Cause {
	return []Cause{
		Race, ForeignDelete, ForeignRenewal, RenewalFailed, LeaseOutlived, ServerLostKey, ServerClock,
		ClientClock, NoExpiry, LateCommand, FenceRegressed, OrphanedKey, Starved, CrossSlot, Deadlock, Panic, Runaway, Unclassified,
	}
}

// Finding is one violation of one property.
type Finding struct {
	Cause Cause `json:"cause"`
	// Summary tells the finding in one plain sentence, with times since the trial's
	// start. Like Broken, it is made of Account.
	Summary string `json:"summary"`
	Lock    string `json:"lock,omitempty"`
	// Broken is the assumption of leases that did not hold in this trial, in one
	// plain clause with names and times; "" if none was broken: the recipe's own
	// steps did it.
	Broken string `json:"broken,omitempty"`
	// Clients are those concerned. In a conflict between two the first is the client
	// that came second (the intruder).
	Clients []int `json:"clients,omitempty"`
	// From and To bound the violation on the history's clock; To is at most
	// the time of the history's last entry.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	// Ops and Commands are the indices of the evidence, ascending.
	Ops      []int `json:"ops,omitempty"`
	Commands []int `json:"commands,omitempty"`
	// Account is what it is about, as data.
	Account Account `json:"account,omitzero"`
	// Forever: nobody will ever get in again (liveness).
	Forever bool `json:"forever,omitempty"`

	// lasted is how long an overlap lasted, beyond the history's end too.
	lasted time.Duration
	// atAnyPace: the blocking key was not left behind because of a timeout.
	atAnyPace bool
}

// Verdict is one oracle's answer for one trial.
type Verdict struct {
	Oracle   string    `json:"oracle"`
	Result   Result    `json:"result"`
	Findings []Finding `json:"findings,omitempty"` // of a violation, in order of From
	// Doubtful are findings that do not count, one of each cause. A stall of the harness
	// itself may be behind them, or, in liveness, a reply that nobody saw. Only another
	// run can tell.
	Doubtful []Finding `json:"doubtful,omitempty"`
	// Reasons explain every result other than a plain holds or violated. Why is the
	// words of them.
	Reasons []Fact `json:"reasons,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Oracle decides one property.
type Oracle struct {
	Name string // "exclusion"
	Doc  string // the property, in one sentence
	// Judge is a pure function of the evidence. It never panics and gives
	// Unknown when ctx ends first.
	Judge func(ctx context.Context, e history.Evidence) Verdict
}

// ErrDisagree: the sweep and porcupine gave different answers for one history.
// The checker is wrong and no verdict of that trial can be trusted.
var ErrDisagree = errors.New("sweep and porcupine disagree")

// oracle is an Oracle inside this package: its error is ErrDisagree.
type oracle struct {
	name, doc string
	judge     func(context.Context, *caseFile) (Verdict, error)
}

// oracles is the table, in the order of reports.
func oracles() []oracle {
	return []oracle{
		{"exclusion", "no two believed holds of one lock overlap; read-write: no writer beside anyone", exclusion},
		{"resource", "no lost update, and no other owner's operation between two of one critical section", agreed(resource)},
		{"fencing", "a later grant has a greater fence, and the resource never accepts an older fence after a newer", fencing},
		{"ownership", "no command ends, or changes the life of, another owner's grant that certainly still stood", agreed(ownership)},
		{"liveness", "after a crash, and after everything heals, waiting clients get in within the recipe's recovery time", agreed(liveness)},
		{"reentrancy", "n acquires need n releases, and nobody re-enters what another definitely holds", agreed(reentrancy)},
		{"extension", "an extension that answers ok comes in time: nobody else was granted the lock since it was the holder's", agreed(extension)},
		{"conduct", "the code under test neither deadlocks nor panics, and comes to an end", agreed(conduct)},
	}
}

// agreed makes a judge of a function that cannot disagree with itself.
func agreed(judge func(context.Context, *caseFile) Verdict) func(context.Context, *caseFile) (Verdict, error) {
	return func(ctx context.Context, f *caseFile) (Verdict, error) { return judge(ctx, f), nil }
}

// ask gets an oracle's verdict under its name. An oracle that crashes gives unknown, never a
// pass. A verdict that came after ctx had ended becomes unknown too, unless it is a
// violation: that one was found in time.
func (o oracle) ask(ctx context.Context, f *caseFile) (v Verdict, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = unknown(Fact{What: OracleCrashed, Text: fmt.Sprint(r)}), nil
		}
		v.Oracle, v.Why = o.name, v.words()
	}()
	if err := ctx.Err(); err != nil {
		return unknown(Fact{What: NotJudged, Text: err.Error()}), nil
	}
	if err := f.sound(); err != nil {
		return impossible(err), nil
	}
	v, err = o.judge(ctx, f)
	v = doubt(f.Evidence, v)
	if cerr := ctx.Err(); cerr != nil && v.Result != Violated {
		v = unknown(Fact{What: NotJudgedToEnd, Text: cerr.Error()})
	}
	putWords(v.Findings)
	putWords(v.Doubtful)
	return v, err
}

// Oracles returns all oracles in the order of reports.
func Oracles() []Oracle {
	var all []Oracle
	for _, o := range oracles() {
		all = append(all, Oracle{Name: o.name, Doc: o.doc, Judge: func(ctx context.Context, e history.Evidence) Verdict {
			v, _ := o.ask(ctx, newCaseFile(e)) // a disagreement is in v.Why too
			return v
		}})
	}
	return all
}

// Judge asks every oracle, in the order of Oracles. The error is ErrDisagree,
// wrapped with what differed; the verdicts are complete even then.
func Judge(ctx context.Context, e history.Evidence) ([]Verdict, error) { return NewCase(e).Judge(ctx) }

// Judge is the function Judge.
func (c *Case) Judge(ctx context.Context) ([]Verdict, error) { return judge(ctx, c.file, oracles()) }

func judge(ctx context.Context, f *caseFile, all []oracle) ([]Verdict, error) {
	var verdicts []Verdict
	var errs []error
	for _, o := range all {
		v, err := o.ask(ctx, f)
		verdicts, errs = append(verdicts, v), append(errs, err)
	}
	return verdicts, errors.Join(errs...)
}
