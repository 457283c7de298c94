package trial

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/packed"
)

// Standing says how far the files of a record can be trusted.
type Standing string

// Values of Standing.
const (
	Vouched   Standing = "vouched"   // the files have the hash of the evidence that the run judged
	Partial   Standing = "partial"   // a file is cut short; the rest may be as judged
	Changed   Standing = "changed"   // the files are not what the run judged
	Unvouched Standing = "unvouched" // a run recorded the files, but left no hash of what it judged
	Given     Standing = "given"     // no run of Lockstorm recorded the files
)

// distrust turns violations into doubts if the files are not what the run judged: the
// changes may have caused the violations.
func (r Record) distrust(verdicts []checker.Verdict) {
	if r.Standing != Changed {
		return
	}
	for i, v := range verdicts {
		if v.Result == checker.Violated {
			verdicts[i] = checker.Verdict{Oracle: v.Oracle, Result: checker.Unknown, Doubtful: append(v.Findings, v.Doubtful...), Reasons: []account.Fact{r.differing()}}
		}
	}
}

// differing returns the reason for distrust: the files may not be what the run judged.
func (r Record) differing() account.Fact {
	return account.Fact{What: account.HashDiffers, Text: r.Differs.Error()}
}

// doubt changes each verdict Held to Unknown if evidence is missing: the missing evidence could have
// shown a violation. Other verdicts stay.
func doubt(verdicts []checker.Verdict, missing account.Fact) {
	if missing.What == "" {
		return
	}
	for i, v := range verdicts {
		if v.Result == checker.Held {
			verdicts[i] = checker.Judged(v.Oracle, checker.Unknown, missing)
		}
	}
}

// Missing says why the record cannot show that a property holds: no client acquired a lock, evidence
// is missing, or the files are not vouched for. It returns the zero Fact if no such reason is known.
// Without a spec.json, it is unknown how the history should end, and whether there was a command log.
func (r Record) Missing() account.Fact {
	ops, cmds := r.Evidence.Ops, r.Evidence.Commands
	last := ended(ops)
	// A breakdown of the code under test is the end of the history: nothing follows it.
	broke := slices.ContainsFunc(ops, func(op history.Op) bool { return op.EventKind().Breakdown })
	switch {
	case !slices.ContainsFunc(ops, granted):
		return account.Fact{What: account.NothingAcquired}
	case r.historyCut:
		return account.Fact{What: account.HistoryCut, Span: last}
	case r.commandsCut:
		return account.Fact{What: account.CommandsCut, Span: lastSent(cmds)}
	case r.keysCut:
		return account.Fact{What: account.KeysCut, Span: lastChange(r.Evidence.Keys)}
	case r.Differs != nil && (broke || r.Standing != Unvouched): // for unvouched files, a gap found below says more
		return r.differing()
	case r.Spec == nil, broke:
		return account.Fact{}
	case !slices.ContainsFunc(ops, func(op history.Op) bool { return op.Event(history.FHealed) }):
		return account.Fact{What: account.HistoryUnhealed, Span: last}
	case !slices.ContainsFunc(ops, func(op history.Op) bool { return op.Event(history.FKeys) }):
		return account.Fact{What: account.HistoryUnexamined, Span: last}
	case len(cmds) == 0:
		return account.Fact{What: account.CommandsGone}
	case r.keysGone:
		return account.Fact{What: account.KeysGone}
	}
	if op, ok := uncovered(ops, cmds); ok {
		return account.Fact{What: account.CommandsIncomplete, Span: lastSent(cmds), Clients: []int{op.Client}, Age: rounded(op.Time)}
	}
	if r.Differs != nil {
		return r.differing()
	}
	return account.Fact{}
}

func granted(op history.Op) bool { return op.F == history.FAcquire && op.Type == history.OK }

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

// uncovered finds a successful acquire during which the client sent no command. A client that may
// still hold the lock needs no command: it can re-enter locally.
func uncovered(ops []history.Op, cmds []history.Command) (history.Op, bool) {
	sent := map[int][]time.Duration{} // the times of commands by client, ascending
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
	since := map[history.Process]time.Duration{} // start of the open invocation
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

// asJudged identifies the evidence and the claims that a run judged.
type asJudged struct {
	Dir      string `json:"dir"`
	Ops      int    `json:"ops"`
	Commands int    `json:"commands"`
	Keys     int    `json:"keys"`
	Hash     string `json:"hash"`
	Promised string `json:"promised"`
}

// vouch compares the record with the evidence that the run judged. It reads the hashes
// of that evidence from verdict.json in the folder, or else from the campaign's trials.jsonl.
func (r *Record) vouch(dir string) {
	var was asJudged
	if err := packed.ReadJSON(filepath.Join(dir, VerdictFile), &was); err != nil || was.Hash == "" {
		was = fromCampaign(dir)
	}
	e := r.Evidence
	if was.Hash != "" { // hashing a long history takes seconds
		r.hash = history.Hash(e)
	}
	changed := was.Hash != r.hash
	switch {
	case was.Hash == "" && (r.Spec == nil || r.Spec.Testbed == ""): // no run recorded the history
		r.Standing = Given
	case was.Hash == "":
		r.Standing, r.Differs = Unvouched, errors.New("the files cannot be verified: no hash of the judged history is stored")
	case changed && (was.Ops != len(e.Ops) || was.Commands != len(e.Commands) || was.Keys != len(e.Keys)):
		r.Standing, r.Differs = Changed, fmt.Errorf("the files differ from the judged ones: %d entries, %d commands and %d key changes, not %d, %d and %d",
			len(e.Ops), len(e.Commands), len(e.Keys), was.Ops, was.Commands, was.Keys)
	case changed:
		r.Standing, r.Differs = Changed, errors.New("the files differ from the judged ones: their hash differs")
	case r.Spec != nil && was.Promised != "" && was.Promised != promiseOf(e.Claims):
		r.Standing, r.Differs = Changed, fmt.Errorf("the lock's claims in %s differ from those that the run judged by", SpecFile)
	default:
		r.Standing = Vouched
	}
	if r.Standing == Changed && (r.historyCut || r.commandsCut || r.keysCut) {
		r.Standing = Partial
	}
}

// promiseOf returns a hash of a lock's claims.
func promiseOf(c history.Claims) string {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// fromCampaign finds the line about a trial's folder in its campaign's trials.jsonl.
func fromCampaign(dir string) (was asJudged) {
	real, err := filepath.Abs(dir)
	if err != nil {
		return was
	}
	root := filepath.Join(real, "..", "..", "..", "..") // the reverse of Folder
	name, err := filepath.Rel(root, real)
	if err != nil {
		return was
	}
	f, err := packed.Open(filepath.Join(root, ResultsFile))
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
