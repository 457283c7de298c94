package campaign

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
)

// doubt takes back every verdict that only says that nothing was seen, where
// something is missing that could have shown it. What was seen stays.
func doubt(verdicts []checker.Verdict, missing string) {
	if missing == "" {
		return
	}
	for i, v := range verdicts {
		if v.Result == checker.Held || v.Result == checker.NotExercised {
			verdicts[i] = checker.Verdict{Oracle: v.Oracle, Result: checker.Unknown, Why: missing}
		}
	}
}

// missing says why the record is not all that there was of its trial; empty if
// nothing tells so. Of a history without a spec.json nobody knows how it should
// end, or whether there ever was a command log.
func (r Record) missing() string {
	ops, cmds := r.Evidence.Ops, r.Evidence.Commands
	last := ended(ops)
	// A trial that the code under test ended has no end but this.
	broke := slices.ContainsFunc(ops, func(op history.Op) bool {
		return event(op, history.FPanic) || event(op, history.FDeadlock) || event(op, history.FRunaway)
	})
	switch {
	case !slices.ContainsFunc(ops, granted):
		return "nothing was acquired"
	case r.historyCut:
		return fmt.Sprintf("the history ends at %v: its last line is cut short", last)
	case r.commandsCut:
		return fmt.Sprintf("the commands end at %v: the last line is cut short", lastSent(cmds))
	case r.keysCut:
		return fmt.Sprintf("the key changes end at %v: the last line is cut short", lastChange(r.Evidence.Keys))
	case r.Differs != nil:
		return r.Differs.Error()
	case r.Spec == nil, broke:
		return ""
	case !slices.ContainsFunc(ops, func(op history.Op) bool { return event(op, history.FHealed) }):
		return fmt.Sprintf("the history ends at %v, before everything was healed", last)
	case !slices.ContainsFunc(ops, func(op history.Op) bool { return event(op, history.FKeys) }):
		return fmt.Sprintf("the history ends at %v, without a post-mortem of the nodes", last)
	case len(cmds) == 0:
		return "there are no commands beside the history"
	case r.keysGone:
		return "there are no key changes beside the history"
	}
	if op, ok := uncovered(ops, cmds); ok {
		return fmt.Sprintf("the commands end at %v: there is none for what client %d acquired at %v", lastSent(cmds), op.Client, rounded(op.Time))
	}
	return ""
}

func granted(op history.Op) bool { return op.F == history.FAcquire && op.Type == history.OK }

func event(op history.Op, f string) bool { return op.Process == history.Nemesis && op.F == f }

func ended(ops []history.Op) time.Duration {
	if len(ops) == 0 {
		return 0
	}
	return rounded(ops[len(ops)-1].Time)
}

func lastSent(cmds []history.Command) (last time.Duration) {
	for _, c := range cmds {
		last = max(last, c.Sent)
	}
	return rounded(last)
}

func lastChange(keys []history.KeyChange) (last time.Duration) {
	if n := len(keys); n > 0 {
		last = keys[n-1].To
	}
	return rounded(last)
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// uncovered finds a grant during which its client sent no command at all. A
// client that may still have the lock can have entered it again by itself: only
// the first grant after a release that went well needs a command.
func uncovered(ops []history.Op, cmds []history.Command) (history.Op, bool) {
	sent := map[int][]time.Duration{} // by client, ascending
	for _, c := range cmds {
		sent[c.Client] = append(sent[c.Client], c.Sent)
	}
	for _, times := range sent {
		slices.Sort(times)
	}
	type hold struct {
		client int
		lock   string
	}
	depth := map[hold]int{}
	since := map[history.Process]time.Duration{} // of open invocations
	for _, op := range ops {
		if op.Process == history.Nemesis {
			continue
		}
		if op.Type == history.Invoke {
			since[op.Process] = op.Time
			continue
		}
		at := hold{op.Client, op.Lock}
		switch {
		case granted(op):
			depth[at]++
			i, _ := slices.BinarySearch(sent[op.Client], since[op.Process])
			if depth[at] == 1 && (i == len(sent[op.Client]) || sent[op.Client][i] > op.Time) {
				return op, true
			}
		case op.F == history.FRelease && op.Type == history.OK:
			depth[at]--
		}
	}
	return history.Op{}, false
}

// asJudged is what a stored trial says of the files that it was judged by.
type asJudged struct {
	Dir      string `json:"dir"`
	Ops      int    `json:"ops"`
	Commands int    `json:"commands"`
	Keys     int    `json:"keys"`
	Hash     string `json:"hash"`
}

// differs compares evidence with what was judged when the trial was run, as
// verdict.json in its folder or else its campaign tells.
func differs(dir string, e history.Evidence) error {
	var was asJudged
	if err := readJSON(filepath.Join(dir, VerdictFile), &was); err != nil || was.Hash == "" {
		if was = fromCampaign(dir); was.Hash == "" {
			return nil
		}
	}
	if was.Hash == history.Hash(e) {
		return nil
	}
	if was.Ops != len(e.Ops) || was.Commands != len(e.Commands) || was.Keys != len(e.Keys) {
		return fmt.Errorf("the files are not what was judged: %d entries, %d commands and %d key changes, not %d, %d and %d",
			len(e.Ops), len(e.Commands), len(e.Keys), was.Ops, was.Commands, was.Keys)
	}
	return fmt.Errorf("the files are not what was judged: their hash is another")
}

// fromCampaign finds the line of a trial's folder in its campaign's trials.jsonl.
func fromCampaign(dir string) (was asJudged) {
	real, err := filepath.Abs(dir)
	if err != nil {
		return was
	}
	root := filepath.Join(real, "..", "..", "..", "..") // of folderName
	name, err := filepath.Rel(root, real)
	if err != nil {
		return was
	}
	f, err := os.Open(filepath.Join(root, TrialsFile))
	if err != nil {
		return was
	}
	defer f.Close()
	for in := json.NewDecoder(f); ; {
		var line asJudged
		if err := in.Decode(&line); err != nil {
			return was
		}
		if line.Dir == name {
			was = line
		}
	}
}
