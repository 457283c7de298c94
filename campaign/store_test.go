package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/trial"
)

func TestStoreNeverOverwritesACampaign(t *testing.T) {
	root, now := t.TempDir(), time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	var dirs []string
	for range 3 {
		s, err := createStore(root, "compare", now)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.publish(), s.close()); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, filepath.Base(s.dir))
		target, err := os.Readlink(filepath.Join(root, Latest))
		if want := filepath.Join("compare", filepath.Base(s.dir)); err != nil || target != want {
			t.Errorf("latest points to %q, %v; want %q", target, err, want)
		}
	}
	if got, want := strings.Join(dirs, " "), "20260301T123000Z 20260301T123000Z-2 20260301T123000Z-3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStoreLeavesALatestThatIsNoLinkAlone(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, Latest)
	if err := os.WriteFile(path, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := createStore(root, "compare", time.Now()); err == nil || !strings.Contains(err.Error(), "not a symbolic link") {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("latest holds %q, %v", data, err)
	}
}

func TestRemovingAFolderLeavesItsNeighbours(t *testing.T) {
	dir := t.TempDir()
	var folders []string
	for k := range 2 {
		folders = append(folders, filepath.Join(dir, trial.Folder(trial.Spec{Lock: "l", Fault: "f", Workload: "w", Trial: k})))
		if err := trial.MakeFolder(folders[k]); err != nil {
			t.Fatal(err)
		}
	}
	if err := trial.RemoveFolder(folders[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folders[1]); err != nil {
		t.Errorf("the neighbour is gone: %v", err)
	}
	if err := trial.RemoveFolder(folders[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "trials")); !os.IsNotExist(err) {
		t.Errorf("an empty directory is left: %v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the campaign is gone: %v", err)
	}
}

func TestACampaignIsOverWhenNobodyRunsIt(t *testing.T) {
	s := newStore(t)
	if err := Over(s.dir); err == nil || !strings.Contains(err.Error(), "the campaign is running") {
		t.Errorf("got %v while it runs", err)
	}
	if err := errors.Join(s.close(), Over(s.dir)); err != nil {
		t.Error(err)
	}
	other, err := os.Open(s.trials.Name()) // another program looks at the same time
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := errors.Join(syscall.Flock(int(other.Fd()), syscall.LOCK_SH), Over(s.dir)); err != nil {
		t.Error(err)
	}
	if err := Over(t.TempDir()); err == nil || !strings.Contains(err.Error(), "expected the directory of a stored campaign") {
		t.Errorf("got %v where there is none", err)
	}
}
