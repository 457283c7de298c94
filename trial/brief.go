package trial

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
)

// Brief returns the result as a line of trials.jsonl. For each oracle and cause, it keeps the first
// and the longest finding; Verdict.LeftOut counts the rest. A kept finding has only its cause,
// lock, span and Forever; the first also has its summary. Reasons stay only in unknown verdicts,
// where later decisions depend on them. The verdict.json in the trial's folder has everything;
// without a folder, the trial can be run again.
func (t Result) Brief() Result {
	t.Verdicts = slices.Clone(t.Verdicts)
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		all := len(v.Findings)
		v.Findings = brief(v.Findings)
		v.LeftOut += all - len(v.Findings)
		v.Doubtful = brief(v.Doubtful) // only shortens them: Doubtful has one finding for each cause
		if v.Result != checker.Unknown {
			v.Reasons = nil // Verdict.Why states them
		}
	}
	return t
}

// brief returns the first and the longest finding of each cause, in their order.
func brief(all []checker.Finding) (some []checker.Finding) {
	lasts := func(f checker.Finding) time.Duration { return f.To - f.From }
	first, longest := map[checker.Cause]int{}, map[checker.Cause]int{}
	for i, f := range all {
		if _, ok := first[f.Cause]; !ok {
			first[f.Cause], longest[f.Cause] = i, i
		}
		if lasts(f) > lasts(all[longest[f.Cause]]) {
			longest[f.Cause] = i
		}
	}
	for i, f := range all {
		if i == first[f.Cause] || i == longest[f.Cause] {
			short := checker.Finding{Cause: f.Cause, Lock: f.Lock, From: f.From, To: f.To, Forever: f.Forever}
			if i == first[f.Cause] {
				short.Summary = f.Summary
			}
			some = append(some, short)
		}
	}
	return some
}
