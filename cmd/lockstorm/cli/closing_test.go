package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// leaky is a testbed whose Close fails.
type leaky struct{ *sim.Testbed }

// Close implements io.Closer.
func (leaky) Close() error { return errors.New("a container stays") }

func TestWhatTrialsFoundIsToldThoughTheTestbedCannotBeClosed(t *testing.T) {
	for command, want := range map[string][]string{
		"run --locks setnx --faults none --trials 1 --duration 1s --shrink 0 --store " + t.TempDir(): {"setnx", "report: "},
		"replay --lock set-nx-px --testbed leaky --duration 1s":                                      {"set-nx-px"},
	} {
		var out, errs bytes.Buffer
		a := app{args: strings.Fields(command), testbeds: offer{{
			Name: "leaky", New: func(context.Context, testbedFlags) (testbed.Testbed, error) { return leaky{sim.New()}, nil },
		}}, output: output{stdout: &out, stderr: &errs}}
		if code := a.run(t.Context()); code != campaign.ExitHarness || !strings.Contains(errs.String(), "a container stays") {
			t.Errorf("%s: exit code %d, want %d; stderr %q", command, code, campaign.ExitHarness, errs.String())
		}
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: told %q, want %q in it", command, out.String(), part)
			}
		}
	}
}

func TestTheFlagsOfATestbedAreKeptForAReplay(t *testing.T) {
	var f testbedFlags
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.register(flags)
	flags.Int("trials", 1, "")
	if err := flags.Parse([]string{"--trials", "3", "--addr", "a:1,b:2", "--tls", "--db", "4", "--password-file", "f"}); err != nil {
		t.Fatal(err)
	}
	if got, want := testbedWords(flags), []string{"--addr=a:1", "--addr=b:2", "--db=4", "--password-file=f", "--tls=true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatIsInDoubtIsToldInOneLine(t *testing.T) {
	d := campaign.Doubt{Lock: "a", Fault: "f", Flaws: []trial.Flaw{{Oracle: "exclusion", Cause: "race"}}, Dir: "d"}
	m := campaign.Matrix{Doubtful: []campaign.Doubt{d}}
	var out bytes.Buffer
	a := app{output: output{stderr: &out}}
	a.discrepancies(&out, campaign.Stored{Dir: "s", Matrix: m})
	const want = "undecided: a under f: exclusion by race in doubt, not declared: "
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, ": s/d\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
	if code := m.ExitCode(true); code != campaign.ExitUnknown {
		t.Errorf("exit code %d", code)
	}
}

func TestALeaseShorterThanAClientsPatienceIsNoted(t *testing.T) {
	undeclared := campaign.Matrix{Unexpected: []campaign.Discrepancy{{Lock: "seats", Fault: "delay", Oracle: "exclusion", Cause: "lease-outlived"}}}
	short, long := campaign.Config{TTL: time.Second}, campaign.Config{TTL: 30 * time.Second}
	chosen := short
	chosen.CommandTimeout = 100 * time.Millisecond
	for name, test := range map[string]struct {
		config campaign.Config
		matrix campaign.Matrix
		noted  bool
	}{
		"short":         {short, undeclared, true},
		"long":          {long, undeclared, false},
		"chosen":        {chosen, undeclared, false},
		"another cause": {short, campaign.Matrix{Unexpected: []campaign.Discrepancy{{Lock: "seats", Cause: "race"}}}, false},
	} {
		var out bytes.Buffer
		a := app{output: output{stderr: &out}}
		a.discrepancies(&out, campaign.Stored{Dir: "s", Info: campaign.Info{Config: test.config}, Matrix: test.matrix})
		if got := strings.Contains(out.String(), "note: a lease lasts "); got != test.noted {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}
