package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/trial"
)

// storedCampaign makes a campaign's directory with only the files that clean and replay read.
func storedCampaign(t *testing.T, info campaign.Info) string {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{campaign.CampaignFile: data, trial.ResultsFile: nil} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCleanRemovesWhatAKilledCampaignLeft(t *testing.T) {
	s := redistest.Test(t)
	const prefix = "lockstorm:0123456789abcdef:"
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer c.Close()
	for _, key := range []string{prefix + "1:lock-0", prefix + "2:lock-0", "lockstorm:fedcba9876543210:1:lock-0"} {
		if err := c.Set(t.Context(), key, 0, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	dir := storedCampaign(t, campaign.Info{Prefix: prefix, Config: campaign.Config{Testbed: "external", TestbedFlags: []string{"--addr=" + s.Addr()}}})
	code, out, errs := lockstorm(t, "clean", dir)
	if n := c.DBSize(t.Context()).Val(); code != 0 || n != 1 || !strings.Contains(out, "2 keys with "+prefix) {
		t.Errorf("exit %d, %d keys are left, %q, %q", code, n, out, errs)
	}
	code, _, errs = lockstorm(t, "clean", storedCampaign(t, campaign.Info{Config: campaign.Config{Testbed: "sim"}}))
	if code != campaign.ExitUsage || !strings.Contains(errs, "it ran on testbed sim") {
		t.Errorf("exit %d, %q where there is nothing to clean", code, errs)
	}
}

func TestARunTellsThePrefixOfItsKeys(t *testing.T) {
	s, store := redistest.Test(t), t.TempDir()
	code, _, errs := lockstorm(t, "run", "--testbed", "external", "--addr", s.Addr(), "--i-own-this-redis", "--locks", "set-nx-px", "--faults", "none",
		"--trials", "1", "--duration", "50ms", "--store", store)
	if code != 0 {
		t.Fatal(errs)
	}
	info, err := campaign.LoadInfo(filepath.Join(store, campaign.Latest))
	if err != nil || !strings.HasPrefix(info.Prefix, "lockstorm:") {
		t.Errorf("got %q, %v", info.Prefix, err)
	}
}
