package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
)

func TestStoreListsAndRemovesCampaigns(t *testing.T) {
	store := t.TempDir()
	for range 2 {
		if code, _, errs := lockstorm(t, "run", "--locks", "set-nx-px", "--faults", "none", "--workloads", "mutex", "--trials", "1", "--duration", "50ms", "--store", store); code != 0 {
			t.Fatal(errs)
		}
	}
	list := func() (all []campaign.Holding) {
		t.Helper()
		code, out, errs := lockstorm(t, "store", "ls", "--json", "--store", store)
		if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil {
			t.Fatalf("exit %d, %v: %s", code, err, errs)
		}
		return all
	}
	all := list()
	if len(all) != 2 || all[0].Trials != 1 || all[0].Outcome != "holds" || all[0].Bytes == 0 {
		t.Fatalf("got %+v", all)
	}
	if code, out, _ := lockstorm(t, "store", "ls", "--store", store); code != 0 || strings.Count(out, "holds") != 2 {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out, errs := lockstorm(t, "store", "gc", "--keep", "1", "--store", store); code != 0 || !strings.HasPrefix(out, "1 campaign removed, ") {
		t.Errorf("gc: exit %d, %q, %q", code, out, errs)
	}
	if left := list(); len(left) != 1 || left[0].Dir != all[0].Dir {
		t.Errorf("after gc: %+v", left)
	}
	if code, _, errs := lockstorm(t, "store", "rm", filepath.Join(store, campaign.Latest)); code != 0 {
		t.Errorf("rm: %s", errs)
	}
	if left := list(); len(left) != 0 {
		t.Errorf("after rm: %+v", left)
	}
}

func TestStoreRefusesWithOneLine(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rm", dir}, dir + ": expected the directory of a stored campaign"},
		{[]string{"gc", "--store", dir}, "--keep 0: expected the number"},
		{[]string{"ls", "--store", filepath.Join(dir, "none")}, "expected a directory with campaigns"},
		{[]string{"mv"}, "expected one of ls, rm, gc"},
	} {
		code, _, errs := lockstorm(t, append([]string{"store"}, c.args...)...)
		if code != campaign.ExitUsage || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d, %q, want %q", c.args, code, errs, c.want)
		}
	}
}

func TestAgesAndSizesHaveAUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Second: "0 s", 59 * time.Second: "59 s", 61 * time.Minute: "1 h", 49 * time.Hour: "2 d", 90 * time.Second: "1 min"} {
		if got := age(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{999: "999 B", 1500: "1.5 kB", 340_878_195: "340.9 MB"} {
		if got := size(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
