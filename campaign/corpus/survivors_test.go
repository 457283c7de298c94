package corpus_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// against has the remedies without whose absence a cause cannot be. Causes that no remedy is against are not here. A
// fenced resource is against none: it cures what any cause does to the resource.
var against = map[checker.Cause][]string{
	checker.Race:           {remedy.AtomicTake, remedy.OnePrimary},
	checker.ForeignDelete:  {remedy.OwnRelease, remedy.AtomicRelease, remedy.UniqueToken},
	checker.ForeignRenewal: {remedy.OwnRenewal, remedy.UniqueToken, remedy.NoOrphan},
	checker.RenewalFailed:  {remedy.StopsAtDeadline, remedy.KeepWhileInUse},
	checker.LeaseOutlived:  {remedy.StopsAtDeadline, remedy.KeepWhileInUse, remedy.OwnRenewal},
	checker.ServerLostKey:  {remedy.Durable, remedy.OnePrimary},
	checker.ServerClock:    {remedy.Clocks},
	checker.ClientClock:    {remedy.Clocks, remedy.KeepWhileInUse},
	checker.LateCommand:    {remedy.NoLateMessage, remedy.UniqueToken, remedy.OwnRelease},
	checker.OrphanedKey:    {remedy.NoOrphan},
	checker.NoExpiry:       {remedy.Expiry},
}

// crash leaves keys that no client releases: no remedy is against an orphaned key of it.
const crash = "client-crash"

// anyOracle stands for the oracles of a minimal trial on which no remedy had an effect: its line does not name them.
const anyOracle = "all"

// A finding that survives the remedies against its own cause shows that the cause is wrong or not all, or that the
// remedies are weak. The known ones are in a table with the reason. Where an oracle names several causes in the whole
// trial, the remedies against all of them count.
func TestFindingsThatSurviveTheirOwnRemedyAreKnown(t *testing.T) {
	list, err := corpus.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, l := range list {
		for _, finding := range survivors(l) {
			key := l.Lock + ": " + finding
			got[key] = append(got[key], l.Fault)
		}
	}
	want := map[string]string{}
	for _, k := range knownSurvivors {
		for _, finding := range k.findings {
			key, faults, _ := strings.Cut(finding, " under ")
			want[k.lock+": "+key] = faults
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		slices.Sort(got[key])
		if faults := strings.Join(got[key], " "); faults != want[key] {
			t.Errorf("survives the remedies against its cause: %s under %s; known under %q", key, faults, want[key])
		}
		delete(want, key)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		t.Errorf("no longer survives: %s under %s", key, want[key])
	}
}

// survivors returns the findings of the line's minimal trial that survive, as "exclusion by race".
func survivors(l corpus.Line) (all []string) {
	if l.Remedied == nil {
		return nil
	}
	if len(l.Remedied.Tried) == 0 {
		cause := causeOf(l)
		panics := slices.ContainsFunc(l.Facts(), func(fact string) bool { return strings.HasPrefix(fact, "conduct by panic") })
		if against[checker.Cause(cause)] == nil || panics || l.Fault == crash && cause == string(checker.OrphanedKey) { // shrinking has kept the panic, against which no remedy is
			return nil
		}
		return []string{anyOracle + " by " + cause}
	}
	for _, oracle := range violated(l.Remedied.Tried[0]) {
		var causes, remedies []string
		for _, fact := range l.Facts() {
			flaw, _, _ := strings.Cut(fact, ", ")
			name, cause, is := strings.Cut(flaw, " by ")
			if own := against[checker.Cause(cause)]; is && name == oracle && own != nil && corpus.IsFlaw(fact) && !(l.Fault == crash && cause == string(checker.OrphanedKey)) {
				causes, remedies = append(causes, cause), append(remedies, own...)
			}
		}
		cured := slices.ContainsFunc(l.Remedied.Tried, func(x remedy.Effect) bool {
			other := func(name string) bool { return !slices.Contains(remedies, name) }
			return slices.ContainsFunc(x.Gone, func(v string) bool { return oracleOf(v) == oracle }) && !slices.ContainsFunc(x.Remedies, other)
		})
		if !cured && len(causes) > 0 {
			all = append(all, oracle+" by "+strings.Join(slices.Compact(causes), "+"))
		}
	}
	return all
}

// violated returns the oracles that the minimal trial violates: each is gone or left.
func violated(x remedy.Effect) (all []string) {
	for _, v := range slices.Concat(x.Gone, x.Left, x.Undecided) {
		all = append(all, oracleOf(v))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// oracleOf returns the oracle of a violation that may be for ever.
func oracleOf(violation string) string { return strings.TrimSuffix(violation, " for ever") }

// causeOf returns the cause of the worst flaw of the line.
func causeOf(l corpus.Line) string {
	for _, fact := range l.Facts() {
		flaw, _, _ := strings.Cut(fact, ", ")
		if _, cause, is := strings.Cut(flaw, " by "); is && corpus.IsFlaw(fact) {
			return cause
		}
	}
	return ""
}
