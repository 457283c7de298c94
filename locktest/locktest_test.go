package locktest_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

// played is the outcome of a scene.
type played struct {
	passed bool
	out    string
}

// play runs a scene in a process of its own, as go test runs a user's test: the working directory
// is dir, and flags are further flags of the test binary.
func play(t *testing.T, scene, dir string, flags ...string) played {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return playOf(t, self, scene, dir, flags...)
}

// playOf is play with another build of this test binary.
func playOf(t *testing.T, binary, scene, dir string, flags ...string) played {
	t.Helper()
	if scenes[scene] == nil {
		t.Fatalf("there is no scene %q", scene)
	}
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-test.run") }) {
		flags = append(flags, "-test.run=^TestScene$")
	}
	cmd := exec.CommandContext(t.Context(), binary, append(flags, "-test.v")...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asScene+"="+scene)
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	return played{err == nil, string(out)}
}

// says fails the test unless the output contains each text. A text that begins with "!" must be
// absent; the "!" is no part of it.
func (p played) says(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		text, not := strings.CutPrefix(text, "!")
		if strings.Contains(words(p.out), words(text)) == not {
			t.Errorf("the output should say %q: %t; it is\n%s", text, !not, p.out)
		}
	}
}

// words returns the text on one line, because line breaks depend on times and tokens.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// judgments says of each lock whether its test passes, and what the output says.
func judgments() map[string]judgment {
	return map[string]judgment{
		"right": {true, []string{
			"--- PASS: TestScene/client-crash", "--- PASS: TestScene/chaos",
			"limits of any lease: exclusion by lease-outlived", "liveness by orphaned-key", "exclusion by server-lost-key", "exclusion by server-clock",
			"!undecided", "!client-skew", "!slot-migration",
		}},
		"bareDelete": {false, []string{
			"--- FAIL: TestScene/client-pause", "exclusion by foreign-delete", "DEL removed the key that was", "it does not check whose key it removes",
			"What would have prevented it", "An owner check on release", "the same as under client-pause",
		}},
		"everybody": {false, []string{"exclusion by race", "one atomic step"}},
		"nobody":    {false, []string{"nobody acquired the lock: Acquire failed: the service is not configured", "!--- FAIL: TestScene/"}},
		"busy":      {false, []string{"nobody acquired the lock: every attempt was ErrBusy"}},
		"noRelease": {false, []string{"Acquire returned neither an error nor Held.Release"}},
		"noFence":   {false, []string{"fencing is required, but Acquire returned no Held.Fence"}},
		"fenced":    {true, []string{"--- PASS: TestScene/none", "exclusion by lease-outlived", "!resource by"}},
		"extended":  {true, []string{"limits of any lease"}},
		"extendedByAnybody": {false, []string{
			"extension by lease-outlived", "ownership by foreign-renewal", "An owner check on renewal and extension",
		}},
		"until":            {true, []string{"resource by lease-outlived", "!exclusion by"}},
		"untilSkewed":      {true, []string{"--- PASS: TestScene/client-skew", "!exclusion by", "!undecided"}},
		"untilByWallClock": {true, []string{"--- PASS: TestScene/client-skew", "exclusion by client-clock", "!undecided"}},
		// A lock that does not declare that it reads Client.Now is not accused of what that clock does.
		"untilUndeclared":      {true, []string{"--- PASS: TestScene/client-skew", "exclusion by client-clock", "is an instant of Client.Now: with the option WallClock", "!undecided"}},
		"untilBesideWallClock": {true, []string{"--- PASS: TestScene/client-skew", "!exclusion by", "!undecided"}},
		"byWallClock":          {false, []string{"--- PASS: TestScene/none", "--- FAIL: TestScene/client-skew", "s wall clock jumped", "exclusion by race"}},
		"untilOfNoLease":       {true, []string{"--- PASS: TestScene/none", "!panic"}},
		"untilTooLate":         {false, []string{"exclusion by lease-outlived", "it claims the lock until", "by its monotonic clock", "That a client does not claim more than its lease", "not from its reply"}},
		"panics": {false, []string{
			"conduct by panic", "the watchdog has no lease (in github.com/lockstorm/lockstorm/locktest_test.panics", "--- SKIP: TestScene/script-flush",
		}},
		"pooled":    {true, []string{"--- PASS: TestScene/partition"}},
		"kept":      {true, []string{"--- PASS: TestScene/delay"}},
		"short":     {false, []string{"exclusion by short-lease", "its key has a TTL of 30 ms"}},
		"unrenewed": {false, []string{"exclusion by renewal-failed"}},
		"twice":     {false, []string{"--- PASS: TestScene/none ", "--- FAIL: TestScene/none#01", "^TestScene$/^none#01$"}},
		"parallel":  {true, []string{"--- PASS: TestScene/a_b/delay", "--- PASS: TestScene/c/delay"}},
		"redigo":    {true, []string{"--- PASS: TestScene/client-crash", "liveness by orphaned-key"}},
		"rueidis":   {true, []string{"--- PASS: TestScene/client-crash", "liveness by orphaned-key"}},
		"undialed":  {false, []string{"nobody acquired the lock", "66379: invalid port", "must connect with Client.Dial"}},
		"budget":    {false, []string{"1 not run: the budget was used up", "--- SKIP: TestScene/delay"}},
		"longer":    {true, []string{"--- PASS: TestScene/client-pause", "!not run", "!no plan fits"}},
		"brief":     {false, []string{"exclusion by lease-outlived", "the reply to", "--- PASS: TestScene/partition"}},
		"bubble":    {false, []string{"call locktest outside of synctest.Test"}},
		"badTTL":    {false, []string{"TTL is 1ns: expected at least 10ms"}},
		"badFault":  {false, []string{`unknown fault "delai": did you mean delay?`}},
		"readWrite": {true, []string{
			"--- PASS: TestScene/client-pause", "exclusion by lease-outlived", "liveness by orphaned-key", "!undecided", "!not run",
		}},
		"readWriteUntil": {true, []string{
			"--- PASS: TestScene/none", "--- PASS: TestScene/hung-work", "!exclusion by", "!undecided", "!not run",
		}},
		"readWriteUntilTooLate": {false, []string{"exclusion by lease-outlived", "it claims the lock until"}},
		"waitingQueue":          {true, []string{"--- PASS: TestScene/client-crash", "liveness by orphaned-key", "!undecided", "!not run"}},
		"sharedByAll":           {false, []string{"exclusion by race", "to read"}},
		"reentrant": {true, []string{
			"--- PASS: TestScene/lost-reply", "--- PASS: TestScene/partition", "exclusion by lease-outlived", "!undecided", "!not run", "!Acquire gave up", "!Acquire waited",
		}},
		"uncounted":          {false, []string{"exclusion by race", "reentrancy by race", "removed its own key on n0: c0 still counted on it", "counts the holder's entries", "!one atomic step"}},
		"notReentrant":       {false, []string{"the option Reentrant says that a holder can acquire the lock again", "!--- FAIL: TestScene/"}},
		"polled":             {true, []string{"--- PASS: TestScene/lost-reply", "liveness by orphaned-key", "!undecided", "!not run", "!Acquire gave up", "!Acquire waited"}},
		"deaf":               {false, []string{"Acquire waits until its context ends, but without any fault it went on for", "!--- FAIL: TestScene/"}},
		"woken":              {true, []string{"--- PASS: TestScene/client-pause", "!undecided", "!not run"}},
		"lostWakeup":         {false, []string{"liveness by left-free", "never got into lock-0", "it was free for"}},
		"reentrantReadWrite": {false, []string{"test re-entry in a Run of its own"}},
		"majority":           {true, []string{"--- PASS: TestScene/node-restart", "exclusion by server-lost-key"}},
		"heartbeat":          {true, []string{"--- PASS: TestScene/delay", "!renewal-failed", "!undecided", "!not run"}},
		"heartbeatTooLate":   {false, []string{"--- PASS: TestScene/none", "--- FAIL: TestScene/delay", "exclusion by renewal-failed"}},
	}
}

// judgment is what the test of a lock ends with.
type judgment struct {
	passes bool
	says   []string
}

// wants fails the test unless the scene was judged so.
func (p played) wants(t *testing.T, j judgment) {
	t.Helper()
	if p.passed != j.passes {
		t.Errorf("passed: %t, want %t; it says\n%s", p.passed, j.passes, p.out)
	}
	p.says(t, j.says...)
}

// Each lock passes or fails, and the output says why. With -short, the locks' own tests run with -short too,
// but for those whose output tells of a trial that -short leaves out.
func TestALockIsJudged(t *testing.T) {
	for scene, want := range judgments() {
		var flags []string
		if testing.Short() && !slices.Contains([]string{"brief", "budget", "lostWakeup"}, scene) {
			flags = []string{"-test.short"}
		}
		t.Run(scene, func(t *testing.T) { play(t, scene, t.TempDir(), flags...).wants(t, want) })
	}
}

// Locks whose code is concurrent, and the commonest ones, are judged alike in a test binary that was built
// with the race detector, which finds no race in this package's own code.
func TestALockIsJudgedWithTheRaceDetector(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "race.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-race", "-tags=concurrent", "-vet=off", "-ldflags=-w", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=1") // the race detector needs it
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, scene := range []string{"right", "panics", "parallel", "woken", "bareDelete", "twice", "bubble", "undialed"} {
		if testing.Short() && !slices.Contains([]string{"right", "panics", "parallel", "woken"}, scene) {
			continue
		}
		want := judgments()[scene]
		want.says = append(want.says, "!DATA RACE")
		var flags []string
		if testing.Short() {
			flags = []string{"-test.short"}
		}
		t.Run(scene, func(t *testing.T) { playOf(t, binary, scene, t.TempDir(), flags...).wants(t, want) })
	}
	out, err := exec.CommandContext(t.Context(), binary, "-test.run=^TestADataRaceIsReported$", "-test.v", "-test.timeout=30m").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestADataRaceIsReported") {
		t.Errorf("a lock's own data race: %v\n%s", err, out)
	}
}

// again matches the command, printed by a failure, that runs the failing trial again.
var again = regexp.MustCompile(`go test -run '([^']*)' (\S+) (?:(-lockstorm\.seed=\d+) )?(-lockstorm\.replay=\S+)`)

func TestAFailureIsReplayedByTheCommandThatItPrints(t *testing.T) {
	dir := t.TempDir()
	p := play(t, "bareDelete", dir, "-lockstorm.seed=7")
	all := again.FindAllStringSubmatch(p.out, -1)
	if len(all) != 2 {
		t.Fatalf("%d commands, want one for the saved trial, and one for that which was shrunk, in\n%s", len(all), p.out)
	}
	for i, seed := range []string{"", "-lockstorm.seed=7"} {
		command := all[i]
		if command[2] != "github.com/lockstorm/lockstorm/locktest" || command[3] != seed {
			t.Errorf("the command is %s", command[0])
		}
		if saved := strings.HasSuffix(command[4], ".json"); saved != (i == 0) {
			t.Errorf("command %d is %s", i, command[0])
		}
		replayed := play(t, "bareDelete", dir, "-test.run="+command[1], "-lockstorm.seed=7", command[4])
		if replayed.passed {
			t.Errorf("%s: the lock held", command[0])
		}
		replayed.says(t, "the trial "+strings.TrimPrefix(command[4], "-lockstorm.replay=")+" shows that the lock breaks what it promises: exclusion by foreign-delete",
			"What would have prevented it", "!to run this trial again", " 1 trial of TestScene")
	}
}

func TestASavedTrialRunsFirst(t *testing.T) {
	dir := t.TempDir()
	play(t, "bareDelete", dir)
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "lockstorm", "TestScene", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("saved are %v, %v", files, err)
	}
	saved := filepath.Join("testdata", "lockstorm", "TestScene", "client-pause-exclusion-foreign-delete.json")
	p := play(t, "bareDelete", dir, "-test.run=^TestScene$/^client-pause$")
	p.says(t, "the saved trial "+saved+" shows that the lock breaks what it promises: exclusion by foreign-delete",
		"the other trials under client-pause were not run", " 1 trial of TestScene", "!in 12 trials")
	// A lock without the mistake passes, and then the other trials run.
	if p = play(t, "fenced", dir); !p.passed {
		t.Errorf("the mended lock fails:\n%s", p.out)
	}
	p.says(t, "the saved trial "+saved+": holds", "limits of any lease")
	// -lockstorm.replay also accepts the path of a saved trial.
	if p = play(t, "bareDelete", dir, "-lockstorm.replay="+saved); p.passed {
		t.Errorf("the replayed file holds:\n%s", p.out)
	}
	p.says(t, "another fault's trial is replayed")
	// A saved file that contains no trial fails the test.
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p = play(t, "bareDelete", dir); p.passed {
		t.Error("a damaged file was passed over")
	}
	p.says(t, saved)
}

func TestAReplayOfNothingFails(t *testing.T) {
	p := play(t, "bareDelete", t.TempDir(), "-lockstorm.replay=mutex/no-such-schedule")
	if p.passed {
		t.Errorf("it passed:\n%s", p.out)
	}
	p.says(t, `there is no trial "mutex/no-such-schedule"`)
}

func TestArtifactsKeepTheEvidence(t *testing.T) {
	dir := t.TempDir()
	play(t, "everybody", dir, "-test.artifacts", "-test.outputdir="+dir).says(t, "its history and commands are in")
	keptOnce(t, dir)
	// The artifacts also keep the evidence of a saved trial.
	if err := os.RemoveAll(filepath.Join(dir, "_artifacts")); err != nil {
		t.Fatal(err)
	}
	play(t, "everybody", dir, "-test.artifacts", "-test.outputdir="+dir).says(t, "the saved trial", "its history and commands are in")
	keptOnce(t, dir)
}

// keptOnce checks that the artifacts below a directory are those of one trial.
func keptOnce(t *testing.T, dir string) {
	t.Helper()
	found := map[string]int{}
	err := filepath.WalkDir(filepath.Join(dir, "_artifacts"), func(path string, _ fs.DirEntry, err error) error {
		found[filepath.Base(path)]++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{trial.HistoryFile, trial.CommandsFile, trial.KeysFile, trial.SpecFile, trial.VerdictFile} {
		if found[file] != 1 {
			t.Errorf("%s is there %d times, want once", file, found[file])
		}
	}
}

// The flags of go test keep their usual meaning.
func TestFlagsOfGoTestBehave(t *testing.T) {
	trials := regexp.MustCompile(`(\d+) trials of TestScene`)
	count := func(flags ...string) string {
		p := play(t, "until", t.TempDir(), flags...)
		if !p.passed {
			t.Errorf("%v: it fails:\n%s", flags, p.out)
		}
		return strings.Join(trials.FindAllString(p.out, -1), ", ")
	}
	all, short := count(), count("-test.short")
	if len(all) == 0 || all == short {
		t.Errorf("%q, and with -short %q", all, short)
	}
	if twice := count("-test.count=2"); twice != all+", "+all {
		t.Errorf("with -count=2: %q, want %q twice", twice, all)
	}
	if one := count("-test.run=^TestScene$/^none$"); one != "2 trials of TestScene" {
		t.Errorf("under one fault: %q", one)
	}
}

// Workers get the flags that a test itself declares. The command that replays a failure also has
// these flags.
func TestFlagsOfTheTestsAreTheWorkersToo(t *testing.T) {
	if p := play(t, "flagged", t.TempDir()); !p.passed {
		t.Errorf("without the flag it fails:\n%s", p.out)
	}
	p := play(t, "flagged", t.TempDir(), "-let-in")
	if p.passed {
		t.Errorf("with the flag it passes:\n%s", p.out)
	}
	p.says(t, "exclusion by race", " -lockstorm.replay=mutex/1 -let-in=true")
}

// A user's tests link few modules: no plotting, no Docker client, no toxiproxy, no command-line library.
func TestTheImportGraphIsSmall(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	for _, m := range modules {
		for _, heavy := range []string{"gonum.org", "docker", "moby", "testcontainers", "toxiproxy", "cobra", "codeberg.org", "opentelemetry"} {
			if strings.Contains(m, heavy) {
				t.Errorf("locktest imports %s", m)
			}
		}
	}
	const most = 16
	if len(modules) > most {
		t.Errorf("locktest needs %d modules, want at most %d: %v", len(modules), most, modules)
	}
}
