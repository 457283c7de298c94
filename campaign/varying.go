package campaign

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// Varying marks a lock that is not replayable byte for byte: a trial of it differed when
// run again on a deterministic testbed. docs/determinism.md lists possible causes.
type Varying struct {
	Lock     string `json:"lock"`
	Fault    string `json:"fault"`
	Workload string `json:"workload"`
	Trial    string `json:"trial"` // trial.Spec.Title
	// Difference is the first difference. Its Log may also be "verdict", if equal runs were
	// judged differently, or "hash", if the runs cannot be read.
	history.Difference
	// Dir and Again are the folders of both runs, relative to the campaign.
	Dir   string `json:"dir"`
	Again string `json:"again"`
}

// Words returns the finding as one sentence.
func (v Varying) Words() string {
	return fmt.Sprintf("%s is not replayable byte for byte: %s under %s (%s), run again, differs first in %s; likely reasons are math/rand/v2, map order and select (docs/determinism.md)",
		v.Lock, v.Trial, v.Fault, v.Workload, v.Difference)
}

// varies says whether a lock was found not to be replayable byte for byte.
func (i Info) varies(lock string) bool {
	return slices.ContainsFunc(i.Varying, func(v Varying) bool { return v.Lock == lock })
}

// Ours says whether a recipe's code is this project's. If a trial of such a recipe is not
// deterministic, the harness has failed. Recipes of locktest, locks/peers, examples and tests are
// not this project's in this sense.
func Ours(lock string) bool {
	r, ok := locks.ByID(lock)
	return ok && ours(r)
}

func ours(r locks.Recipe) bool {
	if r.New == nil {
		return false
	}
	f := runtime.FuncForPC(reflect.ValueOf(r.New).Pointer())
	file, _ := f.FileLine(f.Entry())
	const module = "github.com/lockstorm/lockstorm/"
	for _, others := range []string{"locktest.", "locks/peers.", "examples/"} {
		if strings.HasPrefix(f.Name(), module+others) {
			return false
		}
	}
	return strings.HasPrefix(f.Name(), module) && !strings.HasSuffix(file, "_test.go")
}

// difference returns the first difference between two runs of a trial, which are stored in the
// folders before and after; nil if the histories are equal and were judged alike.
func difference(first, second trial.Result, before, after string) *history.Difference {
	if first.Hash != second.Hash {
		if d := differenceOf(before, after); d != nil {
			return d
		}
	}
	d := history.Difference{Log: "verdict"}
	switch {
	case first.Outcome != second.Outcome:
		d.Field, d.First, d.Second = "outcome", string(first.Outcome), string(second.Outcome)
	case first.Hits != second.Hits:
		d.Field, d.First, d.Second = "hits", fmt.Sprint(first.Hits), fmt.Sprint(second.Hits)
	case !slices.Equal(first.Flaws, second.Flaws):
		d.Field, d.First, d.Second = "flaws", fmt.Sprint(first.Flaws), fmt.Sprint(second.Flaws)
	default:
		return nil
	}
	return &d
}

func differenceOf(before, after string) *history.Difference {
	a, err := trial.LoadRecord(before)
	if err == nil {
		var b trial.Record
		if b, err = trial.LoadRecord(after); err == nil {
			return history.Compare(a.Evidence, b.Evidence)
		}
	}
	return &history.Difference{Log: "hash", Field: err.Error()}
}

// varying describes a trial that differed when it was run again.
func varying(t trial.Result, d history.Difference) Varying {
	folder := trial.Folder(t.Spec)
	return Varying{
		Lock: t.Spec.Lock, Fault: t.Spec.Fault, Workload: t.Spec.Workload, Trial: t.Spec.Title(), Difference: d,
		Dir: folder, Again: filepath.ToSlash(folder) + againSuffix,
	}
}
