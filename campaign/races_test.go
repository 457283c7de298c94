package campaign

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var passed = regexp.MustCompile(`(?m)^--- PASS`)

// concurrent matches the tests that TestACampaignHasNoDataRace runs.
const concurrent = "^(TestResultsDoNotDependOnWorkersOrOrder|TestTheSameSeedGivesTheSameBytesBesideOthers" +
	"|TestMergedShardsAreTheUndividedCampaign|TestAStoppedCampaignFinishesTheTrialsUnderWay" +
	"|TestAnInterruptedCampaignKeepsWhatIsFinished|TestATrialWhoseOrderNobodySawIsRunAgain|TestShrinkingTwiceFindsTheSame|TestFurtherTrialsCountLikePlannedOnes)$"

// Tests of what is concurrent in a campaign (workers, shards, searches, interruptions) pass in a test binary that
// was built with the race detector, which makes trials ten times slower. Its workers are processes of the same
// binary.
func TestACampaignHasNoDataRace(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "race.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-race", "-tags=concurrent", "-vet=off", "-ldflags=-w", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=1") // the race detector needs it
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	race := exec.CommandContext(t.Context(), binary, "-test.short", "-test.v", "-test.timeout=30m", "-test.run="+concurrent)
	out, err := race.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if n := len(passed.FindAll(out, -1)); n != 8 {
		t.Errorf("%d tests passed, want 8:\n%s", n, out)
	}
}

// raced skips a test that TestACampaignHasNoDataRace runs in the other build: with -short, once is enough.
func raced(t *testing.T) {
	t.Helper()
	if !regexp.MustCompile(concurrent).MatchString(t.Name()) {
		t.Fatalf("TestACampaignHasNoDataRace does not run %s", t.Name())
	}
	if testing.Short() && !raceDetector {
		t.Skip("TestACampaignHasNoDataRace runs it, with the race detector")
	}
}
