package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/testbed/container"
	"github.com/lockstorm/lockstorm/trial"
)

func TestTheImageThatRunsIsPartOfTheCampaign(t *testing.T) {
	t.Setenv(container.ImageVariable, "redis:from-the-environment")
	for testbed, want := range map[string][]string{container.Name: {"--image=redis:from-the-environment"}, "sim": nil} {
		var f testbedFlags
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.register(flags)
		settle(flags, testbed)
		if got := testbedWords(flags); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", testbed, got, want)
		}
	}
}

func TestConsentIsForOneRunAlone(t *testing.T) {
	flagSet := func() (flags *pflag.FlagSet, f *testbedFlags) {
		flags, f = pflag.NewFlagSet("", pflag.ContinueOnError), new(testbedFlags)
		f.register(flags)
		return flags, f
	}
	flags, _ := flagSet()
	if err := flags.Parse([]string{"--addr", "127.0.0.1:1", "--" + consentFlag}); err != nil {
		t.Fatal(err)
	}
	words := testbedWords(flags)
	if want := []string{"--addr=127.0.0.1:1"}; !slices.Equal(words, want) {
		t.Errorf("to be repeated: %q, want %q", words, want)
	}
	flags, f := flagSet()
	if err := recall(flags, append(words, "--"+consentFlag+"=true")); err != nil || f.external.Really {
		t.Errorf("recalled %t, %v; want no consent", f.external.Really, err)
	}
}

// A folder outside of a campaign is replayed without the campaign's settings. If the campaign's
// files cannot be read, the replay fails.
func TestReplayTellsWhyItCannotRecall(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "trials", "set-nx-px", "none", "mutex-0")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if image, err := recallTrial(nil, folder, "container"); image != "" || err != nil {
		t.Errorf("alone: got %q, %v", image, err)
	}
	if err := os.WriteFile(filepath.Join(dir, campaign.CampaignFile), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := recallTrial(nil, folder, "container"); err == nil || !strings.Contains(err.Error(), campaign.CampaignFile) {
		t.Errorf("cut short: got %v, want an error that names %s", err, campaign.CampaignFile)
	}
}

func TestReplayRunsAStoredTrialWhereItWasRun(t *testing.T) {
	t.Setenv(container.ImageVariable, "redis:here")
	folder := func(testbed string, words ...string) string {
		dir := storedCampaign(t, campaign.Info{Config: campaign.Config{Testbed: testbed, TestbedFlags: words}})
		result := filepath.Join(dir, "trials", "set-nx-px", "none", "mutex-0")
		if err := os.MkdirAll(result, 0o777); err != nil {
			t.Fatal(err)
		}
		spec := `{"lock":"set-nx-px","workload":"mutex","fault":"none","testbed":"` + testbed + `","format":3}`
		if err := os.WriteFile(filepath.Join(result, trial.SpecFile), []byte(spec), 0o666); err != nil {
			t.Fatal(err)
		}
		return result
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"image":   {[]string{folder(container.Name, "--image=No/Such")}, []string{"No/Such", "is the image that the trial was run on"}},
		"another": {[]string{folder(container.Name, "--image=No/Such"), "--image", "Not/Either"}, []string{"was run on image No/Such, and is replayed on Not/Either"}},
		"address": {[]string{folder("external", "--addr=127.0.0.1:1", "--yes-really=true")}, []string{"127.0.0.1:1", "connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errs := lockstorm(t, append([]string{"replay"}, c.args...)...)
			for _, want := range c.want {
				if code != campaign.ExitUsage || !strings.Contains(errs, want) && !strings.Contains(errs, "no Docker engine") {
					t.Errorf("exit %d, %q, want %q", code, errs, want)
				}
			}
		})
	}
}
