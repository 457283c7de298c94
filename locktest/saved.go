package locktest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// saved is the content of a file below testdata/lockstorm: a failed trial, shrunk if that was
// possible.
type saved struct {
	// Format is trial.Format of the Lockstorm version that wrote the file.
	Format int        `json:"format"`
	Test   string     `json:"test"`
	Shows  string     `json:"shows"` // the flaw, for human readers
	Spec   trial.Spec `json:"spec"`
}

// testdata returns the directory for the saved trials of a call of Run.
func testdata(test string, call int) string {
	path := filepath.Join("testdata", "lockstorm")
	for part := range strings.SplitSeq(test, "/") {
		path = filepath.Join(path, filename(part))
	}
	if call > 1 {
		path += fmt.Sprint("-", call)
	}
	return path
}

// save writes a counterexample into a new file of the directory and returns the file's path. It
// overwrites no file: an existing file's trial showed the same flaw in an earlier version of the
// lock.
func save(dir string, v *Violation, test string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("save a trial: %w", err)
	}
	name := fmt.Sprintf("%s-%s-%s", v.Fault, v.Flaws[0].Oracle, v.Flaws[0].Cause)
	path := filepath.Join(dir, filename(name+".json"))
	for n := 2; exists(path); n++ {
		path = filepath.Join(dir, filename(fmt.Sprintf("%s-%d.json", name, n)))
	}
	return path, packed.WriteJSON(path, saved{trial.Format, test, v.Flaws[0].String(), v.spec})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// load reads a saved trial, with the session's lock as the lock to test.
func (s *session) load(path string) (trial.Spec, error) {
	var file saved
	if err := packed.ReadJSON(path, &file); err != nil {
		return file.Spec, fmt.Errorf("locktest: %w", err)
	}
	if file.Format > trial.Format {
		return file.Spec, fmt.Errorf("locktest: %w", trial.OtherFormat(path, file.Format))
	}
	file.Spec.Lock = s.traits.id(s.name)
	if _, err := file.Spec.Recipe(); err != nil {
		return file.Spec, fmt.Errorf("locktest: %s: %w", path, err)
	}
	return file.Spec, nil
}

// suits returns an error if the session's lock does not promise the property that the trial's
// workload tests. The saved trial then says nothing about the lock.
func (s *session) suits(path string, spec trial.Spec) error {
	recipe, err := spec.Recipe()
	if err != nil {
		return fmt.Errorf("locktest: %s: %w", path, err)
	}
	w, _ := workloads.ByName(spec.Workload) // spec.Recipe has already checked the name
	if w.Suits(spec.PromisedBy(recipe)) {
		return nil
	}
	return fmt.Errorf("locktest: %s: the saved trial is of the workload %s, which does not suit this lock: expected the option or the field of Held that the lock had when the trial was saved (PromiseRenewal for two-locks); set it, or delete the file", path, spec.Workload)
}

// rerunTrial is a trial that is run again: a saved trial, or the one that -lockstorm.replay names.
type rerunTrial struct {
	path   string // the trial's file; "" if the trial is not saved
	spec   trial.Spec
	folder string
	done   trial.Result
	err    error // why the trial was not run
}

// loadSaved reads the trials that earlier runs saved, for savedHold to run. A file that cannot be
// read fails the test.
func (r *runner) loadSaved() error {
	files, err := filepath.Glob(filepath.Join(r.dir, "*.json"))
	if err != nil {
		return fmt.Errorf("locktest: %w", err)
	}
	slices.Sort(files)
	s := r.session
	for _, path := range files {
		a := rerunTrial{path: path, folder: filepath.Join(s.dir, "saved", filepath.Base(path))}
		if a.spec, a.err = s.load(path); a.err == nil {
			a.err = s.suits(path, a.spec)
		}
		if a.spec.Fault == "" {
			r.t.Error(cmp.Or(a.err, fmt.Errorf("locktest: %s: expected the trial of a fault", path)))
			continue
		}
		r.saved = append(r.saved, a)
	}
	return nil
}

// savedFirst returns the plan's faults. Faults with saved trials come first, so that each saved
// trial's violation is told under its own fault. savedFirst logs each saved trial whose fault is
// not in the plan.
func (r *runner) savedFirst() []string {
	faults := r.session.plan.Faults()
	of := func(fault string) int { // 0 if a trial of the fault is saved, else 1
		if slices.ContainsFunc(r.saved, func(a rerunTrial) bool { return a.spec.Fault == fault }) {
			return 0
		}
		return 1
	}
	for _, a := range r.saved {
		if !slices.Contains(faults, a.spec.Fault) {
			r.t.Logf("locktest: the saved trial %s is not run: this test does not include its fault %s", a.path, a.spec.Fault)
		}
	}
	first := slices.Clone(faults)
	slices.SortStableFunc(first, func(a, b string) int { return of(a) - of(b) })
	return first
}

// violationOf returns a violation with the worst flaw of a trial; nil = the lock is not to blame.
func violationOf(t trial.Result) *Violation {
	if !hasFlaw(t) {
		return nil
	}
	f := worstFlaw(t)
	return &Violation{Fault: t.Spec.Fault, Flaws: []Flaw{{Oracle: f.Oracle, Cause: f.Cause, Trials: 1}}}
}

// savedHold runs and judges the saved trials of a fault. It returns true if no saved trial failed,
// and then the other trials are to run. If it returns false, the test has failed.
func (r *runner) savedHold(ctx context.Context, t *testing.T, fault string, result *Result) bool {
	f := FaultResult{Fault: fault}
	held := true
	for _, a := range r.saved {
		switch {
		case a.spec.Fault != fault:
			continue
		case a.err == nil:
			if a.done, a.err = r.session.rerun(ctx, a.spec, a.folder); a.err != nil {
				t.Fatal(cmp.Or(context.Cause(ctx), a.err))
			}
		default:
			t.Error(a.err)
			held = false
			continue
		}
		f.Trials++
		if r.judge(t, a, "the saved trial "+a.path) {
			continue
		}
		held = false
		switch v := violationOf(a.done); {
		case v == nil:
		case f.Violation == nil:
			f.Violation = v
		default:
			f.Violation.Flaws = append(f.Violation.Flaws, v.Flaws...)
		}
	}
	result.Trials += f.Trials
	if !held {
		result.Faults = append(result.Faults, f)
		t.Logf("the other trials under %s were not run: saved trials come first", fault)
	}
	return held
}

// named returns the trial that r.replay names; nil = the trial is not one of this fault.
func (r *runner) named(fault string) (*trial.Spec, error) {
	if strings.HasSuffix(r.replay, ".json") {
		spec, err := r.session.load(r.replay)
		if err != nil || spec.Fault != fault {
			return nil, err
		}
		return &spec, r.session.suits(r.replay, spec)
	}
	return r.session.named(fault)
}

// keep copies a violated trial's evidence to the test's artifacts if -artifacts is set. It returns
// lines that say where the evidence is, or how to keep it.
func keep(t *testing.T, folder string) []string {
	if value("test.artifacts") != "true" {
		return []string{"go test -artifacts would keep its history and commands"}
	}
	dir := t.ArtifactDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		return []string{fmt.Sprint("its history and commands could not be kept: ", err)}
	}
	return []string{"its history and commands are in", "  " + dir}
}
