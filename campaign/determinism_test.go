package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// recordsTo is an environment variable with the name of a directory. If it is set, the test only
// writes its records there; a process of another build then compares them.
const recordsTo = "LOCKSTORM_RECORDS_TO"

// This seed once showed a bug of the simulation: a client that waited at the gate twice between two
// replies went on at the same instant as another client's next request, so that the Go scheduler
// decided which of the two came first.
func TestAClientThatWaitsTwiceGoesOnAlone(t *testing.T) {
	tb, c := sim.New(), simConfig(t)
	c.Seed = 319055994
	s := specOf(t, tb, c, "reentrant-local", "client-skew", "reentrant", 0)
	first := record(t, tb, s)
	for range 9 {
		if again := record(t, tb, s); !bytes.Equal(again, first) {
			t.Fatal("the same trial has another record")
		}
	}
}

// circumstance is how trials are run. It must not influence their records.
type circumstance struct {
	procs    int // GOMAXPROCS
	parallel int // trials at a time
	run      int // the first or the second
}

func (c circumstance) String() string {
	return fmt.Sprintf("%d processors, %d at a time, run %d", c.procs, c.parallel, c.run)
}

// circumstances combine both values of procs and of parallel; the busiest one runs twice.
func circumstances() []circumstance {
	return []circumstance{{1, 1, 1}, {1, 4, 1}, {2, 1, 1}, {2, 4, 1}, {2, 4, 2}}
}

// A trial of every recipe under every fault has the same history, command log and key changes, byte
// for byte: at any GOMAXPROCS, alone or beside other trials, with and without the race detector,
// and in every repetition. The first circumstance, without the race detector, runs all trials. The
// other circumstances are slower and run a sixth, which covers every recipe and every fault. With
// the race detector, only the first and the busiest circumstance run.
func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make thorough runs it")
	}
	tb := sim.New()
	specs := varied(t, tb, documented())
	if len(specs) < 300 {
		t.Fatalf("%d trials: want a few hundred", len(specs))
	}
	if dir := os.Getenv(recordsTo); dir != "" {
		for _, c := range circumstances() {
			writeRecords(t, filepath.Join(dir, c.String()), records(t, tb, specs, c))
		}
		return
	}
	dir := t.TempDir()
	runOtherBuild(t, dir)
	t.Logf("%d trials in %d circumstances, in this build and in one with -race=%t", len(specs), len(circumstances()), !raceDetector)
	var want [][]byte
	compared := 0
	for _, c := range circumstances() {
		for build, got := range map[string][][]byte{
			"this build":  records(t, tb, specs, c),
			"other build": readRecords(t, filepath.Join(dir, c.String())),
		} {
			if want == nil {
				want = make([][]byte, len(specs))
			}
			compared += compare(t, fmt.Sprintf("%s, %v", build, c), specs, got, want)
		}
	}
	if compared < len(specs)/2 {
		t.Errorf("%d records were compared, of %d trials", compared, len(specs))
	}
}

// Trials of some of the recipes have the same bytes when they run alone on one processor and beside others
// on two: what TestTheSameSeedGivesTheSameBytes shows of all recipes and in two builds.
func TestTheSameSeedGivesTheSameBytesBesideOthers(t *testing.T) {
	raced(t)
	tb := sim.New()
	var some []string
	for i, lock := range documented() {
		if i%6 == 0 {
			some = append(some, lock)
		}
	}
	specs := varied(t, tb, some)
	all, want := circumstances(), make([][]byte, len(specs))
	compared := 0
	for _, c := range []circumstance{all[0], all[len(all)-1]} {
		compared += compare(t, c.String(), specs, records(t, tb, specs, c), want)
	}
	if compared < len(nemesis.All())/2 {
		t.Errorf("only %d trials were compared", compared)
	}
}

// sixth marks the trials on every sixth diagonal of the table of recipes and faults, and one more
// trial for each recipe and each fault without a mark.
func sixth(specs []trial.Spec) []bool {
	row, column := map[string]int{}, map[string]int{}
	number := func(of map[string]int, name string) int {
		if _, known := of[name]; !known {
			of[name] = len(of)
		}
		return of[name]
	}
	mine, locks, faults := make([]bool, len(specs)), map[string]bool{}, map[string]bool{}
	for i, s := range specs {
		if mine[i] = (number(row, s.Lock)+number(column, s.Fault))%6 == 0; mine[i] {
			locks[s.Lock], faults[s.Fault] = true, true
		}
	}
	for i, s := range specs {
		if !locks[s.Lock] || !faults[s.Fault] {
			mine[i], locks[s.Lock], faults[s.Fault] = true, true, true
		}
	}
	return mine
}

// varied returns a trial of each of these recipes under every fault that it supports, each with one
// workload and one of the fault's plans.
func varied(t *testing.T, tb testbed.Testbed, locks []string) []trial.Spec {
	t.Helper()
	conf := DefaultConfig()
	conf.Testbed, conf.Seed, conf.Trials = tb.Name(), 7, 3
	conf.Duration, conf.Locks = 3*conf.TTL, locks
	p, cells := rehearsed(t, tb, conf)
	jobs, err := p.jobs(cells)
	if err != nil {
		t.Fatal(err)
	}
	byCell := map[[2]string][]trial.Spec{}
	for _, j := range jobs {
		k := [2]string{j.spec.Lock, j.spec.Fault}
		byCell[k] = append(byCell[k], j.spec)
	}
	var specs []trial.Spec
	for i, c := range cells {
		if of := byCell[[2]string{c.recipe.ID, c.fault.Name}]; len(of) > 0 {
			specs = append(specs, of[i%len(of)])
		}
	}
	return specs
}

// rehearsed returns a planner of the configuration's recipes under all faults, whose probes have run, and
// its cells.
func rehearsed(t *testing.T, tb testbed.Testbed, conf Config) (*planner, []plannedCell) {
	t.Helper()
	p := newPlanner(conf, tb)
	cells, err := p.cells()
	if err != nil {
		t.Fatal(err)
	}
	probes, err := p.probes(cells)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range probes {
		e, err := trial.Run(t.Context(), tb, j.spec, history.NewRecorder(nil, tb.Clock()), nil)
		if err != nil {
			t.Fatalf("probe of %s: %v", j.spec.Lock, err)
		}
		p.seen[pair{j.spec.Lock, j.spec.Workload}] = nemesis.SightOf(e)
	}
	return p, cells
}

// documented returns the ids of the recipes that have a document. Recipes that this package's tests
// register have none.
func documented() (ids []string) {
	for _, r := range locks.All() {
		if slices.ContainsFunc(locks.Documents(), func(d locks.Document) bool { return d.ID == r.Document }) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// records returns the records of the trials that this build runs in circumstance c. The records of
// all other trials are nil.
func records(t *testing.T, tb testbed.Testbed, specs []trial.Spec, c circumstance) [][]byte {
	got, all, slow := make([][]byte, len(specs)), circumstances(), raceDetector
	first, busiest := c == all[0], c == all[len(all)-1]
	if slow && !first && !busiest {
		return got
	}
	mine := sixth(specs)
	if first && !slow {
		mine = slices.Repeat([]bool{true}, len(specs))
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.procs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range c.parallel {
		workers.Go(func() {
			for i := range next {
				got[i] = record(t, tb, specs[i])
			}
		})
	}
	for i := range specs {
		if mine[i] {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	return got
}

// record runs a trial and returns its evidence in its stored form.
func record(t *testing.T, tb testbed.Testbed, s trial.Spec) []byte {
	e, err := trial.Run(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), nil)
	if err != nil {
		t.Errorf("%s under %s: %v", s.Lock, s.Fault, err)
	}
	return written(e)
}

func written(e history.Evidence) (b []byte) {
	for _, op := range e.Ops {
		b = append(op.AppendJSON(b), '\n')
	}
	for _, c := range e.Commands {
		b = append(c.AppendJSON(b), '\n')
	}
	for _, k := range e.Keys {
		b = append(k.AppendJSON(b), '\n')
	}
	return b
}

// compare compares each trial's record in got with its first record, which is in want. It returns how
// many records it compared. If want has no record of a trial yet, compare puts that of got there.
func compare(t *testing.T, where string, specs []trial.Spec, got, want [][]byte) (held int) {
	t.Helper()
	differ := 0
	for i := range specs {
		if want[i] == nil {
			want[i] = got[i]
			continue
		}
		if got[i] == nil {
			continue
		}
		if held++; bytes.Equal(got[i], want[i]) {
			continue
		}
		if differ++; differ <= 3 {
			t.Errorf("%s: %s under %s (%s): %s", where, specs[i].Lock, specs[i].Fault, specs[i].Workload, firstDifference(got[i], want[i]))
		}
	}
	if differ > 3 {
		t.Errorf("%s: %d of %d trials differ", where, differ, len(specs))
	}
	return held
}

func firstDifference(got, want []byte) string {
	a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			return fmt.Sprintf("line %d of %d and %d:\ngot  %s\nwant %s", i+1, len(a), len(b), a[i], b[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(a), len(b))
}

// runOtherBuild runs this test in a build with the race detector, or without it if this process has
// it. The other build writes its records into dir.
func runOtherBuild(t *testing.T, dir string) {
	t.Helper()
	program := filepath.Join(dir, "other.test")
	args, cgo := []string{"test", "-c", "-o", program}, "CGO_ENABLED=0"
	if !raceDetector {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1" // the race detector needs cgo
	}
	build := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	build.Env = append(os.Environ(), cgo)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	child := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), recordsTo+"="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("this test in the other build: %v\n%s", err, out)
	}
}

func writeRecords(t *testing.T, path string, records [][]byte) {
	data, err := json.Marshal(records)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readRecords(t *testing.T, path string) (records [][]byte) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &records)
	}
	if err != nil {
		t.Fatal(err)
	}
	return records
}
