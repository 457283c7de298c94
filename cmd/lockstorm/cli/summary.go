package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports"
)

// throughput says how many trials a campaign ran in how much time, and in how many the machine
// stalled. On virtual time it also says how much virtual time passed.
func throughput(s campaign.Stored) []string {
	took := s.Info.Elapsed
	if took <= 0 || len(s.Trials) == 0 {
		return nil
	}
	line := fmt.Sprintf("%s in %s, %.3g a second", count(s.Ran(), "trial"), reports.Roughly(took), float64(s.Ran())/took.Seconds())
	lines := []string{line + repeated(s)}
	if f := s.Info.Further; f != nil {
		lines = append(lines, f.Words())
	}
	if words := s.StallWords(); words != "" {
		lines = append(lines, words)
	}
	if v := s.Virtual(); v > 0 {
		lines = append(lines, fmt.Sprintf("virtual time: %s in %s (%sx)", reports.Roughly(v), reports.Roughly(took), ratio(v.Seconds()/took.Seconds())))
	}
	return lines
}

// ratio writes a ratio with at least two digits, so that 0.76 is not told as 1.
func ratio(r float64) string {
	if r < 10 {
		return fmt.Sprintf("%.2g", r)
	}
	return fmt.Sprintf("%.0f", r)
}

// mostFacts is the maximum number of facts of one kind that corpusFacts names.
const mostFacts = 10

// corpusFacts prints flaws that the corpus does not have, and facts of the corpus that did not come
// out.
func (a *output) corpusFacts(w io.Writer, s campaign.Stored) {
	more := func(n int) {
		if n > mostFacts {
			a.say(w, "  and %d more (matrix.json)", n-mostFacts)
		}
	}
	if n := len(s.Matrix.New); n > 0 {
		a.say(w, "%s that the corpus does not have in their cells:", count(n, "flaw"))
		for _, d := range s.Matrix.New[:min(n, mostFacts)] {
			known := ", which the recipe declares"
			if slices.ContainsFunc(s.Matrix.Unexpected, func(u campaign.Discrepancy) bool {
				return u.Lock == d.Lock && u.Fault == d.Fault && u.Oracle == d.Oracle && u.Cause == d.Cause
			}) {
				known = ", which the recipe does not declare"
			}
			a.say(w, "  %s under %s: %s by %s%s%s", d.Lock, d.Fault, d.Oracle, d.Cause, known, at(s.Dir, d.Dir))
			a.say(w, "    %s", wording.As(d.Replay, a.program))
		}
		more(n)
	}
	if n := len(s.Matrix.Lost); n > 0 {
		a.say(w, "%s did not come out:", count(n, "corpus fact"))
		for _, f := range s.Matrix.Lost[:min(n, mostFacts)] {
			a.say(w, "  %s under %s (%s), %s: %s", f.Lock, f.Fault, f.Workload, f.Trial, f.Fact)
		}
		more(n)
	}
	for i, line := range s.Info.ChangedLines(s.Matrix.Changed) {
		a.say(w, "%s%s", strings.Repeat("  ", i), line)
	}
}

// repeated says whether repeated trials had the same history. The text is the end of a line.
func repeated(s campaign.Stored) string {
	var varying []string
	for _, v := range s.Info.Varying {
		varying = append(varying, v.Lock)
	}
	slices.Sort(varying)
	differed := strings.Join(slices.Compact(varying), " and ")
	identical := fmt.Sprintf("; %s repeated: identical", count(s.Reproduced, "trial"))
	switch {
	case differed == "" && s.Reproduced == 0:
		return ""
	case differed == "":
		return identical
	case s.Reproduced == 0:
		return "; trials of " + differed + ", repeated, differed"
	}
	return identical + "; other trials of " + differed + " differed"
}

// asExpected prints a line if a campaign with --expect ran to its end and agrees with the recipes'
// declarations.
func (a *output) asExpected(w io.Writer, s campaign.Stored) {
	switch {
	case !s.Info.Config.Expect || s.Matrix.ExitCode(true) != campaign.ExitExpected || s.Matrix.Interrupted:
	case s.Matrix.Shard.Part():
		a.say(w, "as expected: shard %s found no undeclared flaw; lockstorm merge reports declared flaws that were missed", s.Matrix.Shard)
	default:
		a.say(w, "as expected: %s", foundWords(s.Matrix))
	}
}

// foundWords summarizes the findings of a campaign that came out as expected.
func foundWords(m campaign.Matrix) string {
	var declaring bool
	var own []string
	for _, c := range m.Cells {
		switch {
		case !onlyLimits(c.Lock):
			declaring = true
		case !slices.Contains(own, c.Lock):
			own = append(own, c.Lock)
		}
	}
	const limits, declared = "nothing but limits of any lease", "every declared flaw that was looked for was found, and no other"
	switch {
	case !declaring && len(own) > 0:
		return limits + " showed"
	case len(own) > 0:
		return declared + "; of " + strings.Join(own, " and ") + ", which declares none, " + limits
	}
	return declared
}

// onlyLimits reports whether the lock is a user's that may show only the limits of any lease.
func onlyLimits(lock string) bool {
	r, known := locks.ByID(lock)
	return known && r.OnlyLimits()
}

// firstLook names the violations to look at first, each with its story in one sentence and the
// command that shows it again.
func (a *output) firstLook(w io.Writer, s campaign.Stored) {
	intro := "look at this first"
	for _, f := range worstFlaws(s) {
		kind := "which the recipe does not declare"
		if f.Kind != "" {
			kind = "a " + reports.KindWords(f.Lock, f.Kind)
		}
		a.say(w, "%s: %s under %s: %s violated by %s, %s", intro, f.Lock, f.Fault, f.Oracle, f.Cause, kind)
		if story := storyOf(f); story != "" {
			a.say(w, "  %s", story)
		}
		a.sayCommand(w, f.Replay)
		intro = "then at this"
	}
}

// notRun names the recipes that the report recommends as alternatives but that were not run. It
// prints the command that runs the campaign with these recipes added.
func (a *app) notRun(w io.Writer, s campaign.Stored) {
	absent := reports.NotRun(s)
	if len(absent) == 0 || s.Matrix.Shard.Part() || s.Info.Config.Confirm != "" {
		return
	}
	a.say(w, "what to take instead is not in this run (%s); with it:", strings.Join(absent, ", "))
	a.sayCommand(w, wording.Command(append([]string{"lockstorm"}, withLocks(a.args, slices.Concat(s.Info.Config.Locks, absent))...)...))
}

// withLocks returns args with --locks set to the given locks.
func withLocks(args, locks []string) []string {
	const flag = "--locks"
	args, choice := slices.Clone(args), strings.Join(locks, ",")
	i := slices.IndexFunc(args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
	switch {
	case i < 0:
		return append(args, flag, choice)
	case args[i] != flag:
		args[i] = flag + "=" + choice
	case i+1 < len(args):
		args[i+1] = choice
	}
	return args
}

// worstFlaws returns the worst undeclared flaw, then the worst declared one, as far as the trials
// showed any.
func worstFlaws(s campaign.Stored) (worst []campaign.ShownFlaw) {
	for _, f := range flawsWorstFirst(s) {
		if len(worst) == 0 || worst[0].Kind == "" && f.Kind != "" {
			worst = append(worst, f)
		}
		if f.Kind != "" {
			break
		}
	}
	return worst
}

// flawsWorstFirst lists the flaws that trials showed, the worst first. It omits the flaws of the
// clients' programs.
func flawsWorstFirst(s campaign.Stored) []campaign.ShownFlaw {
	shown := slices.DeleteFunc(s.ShownFlaws(), func(f campaign.ShownFlaw) bool { return checker.OracleNamed(f.Oracle).OfProgram })
	slices.SortStableFunc(shown, compareShown)
	return shown
}

// compareShown orders flaws worst first: undeclared ones, bugs, limits; then the most direct harm;
// then the shortest history.
func compareShown(a, b campaign.ShownFlaw) int {
	kind := map[locks.Kind]int{"": 0, locks.Bug: 1, locks.Limit: 2}
	return cmp.Or(cmp.Compare(kind[a.Kind], kind[b.Kind]),
		cmp.Compare(checker.OracleNamed(a.Oracle).Rank, checker.OracleNamed(b.Oracle).Rank),
		cmp.Compare(a.Trial.Ops+a.Trial.Commands, b.Trial.Ops+b.Trial.Commands))
}

// storyOf returns the flaw's story in one sentence; "" if the trial has none.
func storyOf(f campaign.ShownFlaw) string {
	for _, v := range f.Trial.Verdicts {
		for _, x := range v.Findings {
			if v.Oracle == f.Oracle && string(x.Cause) == f.Cause {
				return x.Summary
			}
		}
	}
	return ""
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// impatientLease prints a note if the lease time may explain an undeclared lease-outlived flaw: the
// lock's client may wait for one reply longer than the campaign's lease lasts.
func (a *output) impatientLease(w io.Writer, s campaign.Stored) {
	c := s.Info.Config
	if c.TTL == 0 || c.TTL >= ownPatience || c.CommandTimeout > 0 {
		return
	}
	i := slices.IndexFunc(s.Matrix.Unexpected, func(u campaign.Discrepancy) bool { return u.Cause == string(checker.LeaseOutlived) })
	if i >= 0 {
		a.say(w, "note: a lease lasts %v here; if the client of %s waits for longer than that for one reply, as go-redis does by default, run it with the lease and the patience of its service, such as --ttl 30s --command-timeout 25s", c.TTL, s.Matrix.Unexpected[i].Lock)
	}
}
