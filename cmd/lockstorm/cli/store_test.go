package cli

import (
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
	list := func() []campaign.Holding {
		t.Helper()
		all, _, _ := jsonOf[[]campaign.Holding](t, "store", "ls", "--store", store)
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
