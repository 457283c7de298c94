package cli

import (
	"archive/zip"
	"html"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
)

var (
	hrefs     = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	markLinks = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// TestEveryLinkOfABundleWorks: the archive has all files that its pages link to.
func TestEveryLinkOfABundleWorks(t *testing.T) {
	store := storeOfOne(t, "1")
	to := filepath.Join(t.TempDir(), "campaign.zip")
	code, stdout, stderr := lockstorm(t, "report", "--all", "--bundle", to, filepath.Join(store, "latest"))
	if code != 0 || !strings.Contains(stdout, "bundle: "+to+"\n") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	archive, err := zip.OpenReader(to)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files, folders := map[string]string{}, map[string]bool{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || r.Close() != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		files[f.Name] = string(text)
		for d := path.Dir(f.Name); d != "."; d = path.Dir(d) {
			folders[d] = true
		}
	}
	links := 0
	for name, text := range files {
		pattern := hrefs
		switch path.Ext(name) {
		case ".md":
			pattern = markLinks
		case ".html":
		default:
			continue
		}
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			link, err := url.Parse(html.UnescapeString(m[1]))
			if err != nil || link.IsAbs() || link.Path == "" {
				continue
			}
			links++
			if target := path.Join(path.Dir(name), link.Path); files[target] == "" && !folders[target] {
				t.Errorf("%s links %s, which is not in the archive", name, m[1])
			}
		}
	}
	if links < 10 || files["campaign/report.html"] == "" || files["campaign/trials.jsonl"] == "" || files["campaign/results.csv"] == "" {
		t.Errorf("%d links in %d files", links, len(files))
	}
}

func TestTheSameCampaignGivesTheSameBundle(t *testing.T) {
	store, dir := storeOfOne(t, "1"), t.TempDir()
	var all [2]string
	for i := range all {
		to := filepath.Join(dir, "campaign.zip")
		if code, _, stderr := lockstorm(t, "report", "--bundle", to, filepath.Join(store, "latest")); code != 0 {
			t.Fatal(stderr)
		}
		data, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = string(data)
	}
	if all[0] != all[1] {
		t.Error("two bundles of a campaign differ")
	}
}

// TestReportOfTwoTellsWhatChanged compares a campaign with itself, and with another campaign.
func TestReportOfTwoTellsWhatChanged(t *testing.T) {
	first := filepath.Join(storeOfOne(t, "1"), "latest")
	code, stdout, stderr := lockstorm(t, "report", first, first)
	if code != 0 || !strings.HasSuffix(stdout, "\n2 cells in both, 2 of them the same\n") {
		t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	other := filepath.Join(t.TempDir(), "s")
	if code, _, stderr := lockstorm(t, "run", "--locks", "setnx", "--faults", "none,client-crash", "--trials", "1", "--shrink", "0", "--store", other); code != 0 {
		t.Fatal(stderr)
	}
	_, stdout, _ = lockstorm(t, "report", first, filepath.Join(other, "latest"))
	if !strings.Contains(stdout, "\n1 cell in both, 1 of them the same\n") || !strings.Contains(stdout, "\nOnly after:\n  setnx under client-crash: BLOCK*\n\nOnly before:\n  setnx under failover: BUG\n") {
		t.Errorf("got\n%s", stdout)
	}
	if code, stdout, _ := lockstorm(t, "report", "--json", first, filepath.Join(other, "latest")); code != 0 || !strings.Contains(stdout, `"direction": "added"`) {
		t.Errorf("exit code %d, got\n%s", code, stdout)
	}
}

// TestABundleReplacesOnlyABundle: a forgotten or mistyped path destroys no other file.
func TestABundleReplacesOnlyABundle(t *testing.T) {
	store := storeOfOne(t, "1")
	latest := filepath.Join(store, "latest")
	notes := file(t, "notes.txt", "of mine")
	for _, taken := range []string{latest, notes, t.TempDir()} {
		code, _, stderr := lockstorm(t, "report", "--bundle", taken, latest)
		if code != campaign.ExitUsage || !strings.Contains(stderr, "expected a new file, or a .zip to replace") {
			t.Errorf("--bundle %s: exit code %d: %s", taken, code, stderr)
		}
	}
	if text, err := os.ReadFile(notes); err != nil || string(text) != "of mine" {
		t.Errorf("the notes are %q, %v", text, err)
	}
	zip := filepath.Join(t.TempDir(), "again.zip")
	mine := zip + ".new"
	if err := os.WriteFile(mine, []byte("of mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if text, err := os.ReadFile(mine); err != nil || string(text) != "of mine" {
			t.Errorf("%s is %q, %v", mine, text, err)
		}
	}()
	for range 2 {
		if code, _, stderr := lockstorm(t, "report", "--bundle", zip, latest); code != 0 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	}
}
