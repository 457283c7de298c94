package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// readPage reads a page of the repository. The path is relative to the root.
func readPage(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// pages lists README.md and the pages of docs/. The paths are relative to the root.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "docs/ci/README.md"}
	found, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(found) == 0 {
		t.Fatalf("%d pages in docs/, %v", len(found), err)
	}
	for _, path := range found {
		all = append(all, "docs/"+filepath.Base(path))
	}
	return all
}

// TestPagesAreShort: a page for reading covers one topic. Two pages are for looking things up, so
// they may be long.
func TestPagesAreShort(t *testing.T) {
	const most = 250
	for _, page := range pages(t) {
		if page == "docs/recipes.md" || page == "docs/documents.md" {
			continue
		}
		if n := strings.Count(readPage(t, page), "\n"); n > most {
			t.Errorf("%s has %d lines, expected at most %d", page, n, most)
		}
	}
}

// TestPagesHaveNoConflicts looks for the marks of an unfinished merge.
func TestPagesHaveNoConflicts(t *testing.T) {
	mark := regexp.MustCompile(`(?m)^(<{7}|={7}|>{7})( .*)?$`)
	for _, page := range append(pages(t), "CHANGELOG.md") {
		if found := mark.FindString(readPage(t, page)); found != "" {
			t.Errorf("%s has a line %q", page, found)
		}
	}
}

// TestPagesTellTheRegistries checks that the tables of docs/testbeds.md and docs/faults.md
// agree with the registries.
func TestPagesTellTheRegistries(t *testing.T) {
	can := map[string][]testbed.Capability{}
	beds := "| testbed | what | topologies |\n|---|---|---|\n"
	for _, c := range testbeds {
		var topologies []testbed.Topology
		var able []testbed.Capability
		var lacks map[testbed.Capability]string
		if c.Sketch != nil { // the sketch describes the testbed on any machine
			topologies, able, lacks = worldsOf(c.Sketch())
		} else {
			topologies, able, lacks, _ = c.worlds()
		}
		can[c.Name] = slices.AppendSeq(able, maps.Keys(lacks)) // everything that the testbed can do on some machine
		beds += fmt.Sprintf("| `%s` | %s | %s |\n", c.Name, c.Doc, wording.Join(topologies))
	}
	faults := "| fault | what it does | testbeds |\n|---|---|---|\n"
	for _, f := range nemesis.All() {
		var on []string
		for _, c := range testbeds {
			lacks := func(need testbed.Capability) bool { return !slices.Contains(can[c.Name], need) }
			if !slices.ContainsFunc(f.Needs, lacks) {
				on = append(on, c.Name)
			}
		}
		faults += fmt.Sprintf("| `%s` | %s | %s |\n", f.Name, f.Doc, strings.Join(on, ", "))
	}
	for page, table := range map[string]string{"docs/testbeds.md": beds, "docs/faults.md": faults} {
		if !strings.Contains(readPage(t, page), "\n\n"+table+"\n") {
			t.Errorf("%s lacks this table:\n%s", page, table)
		}
	}
}

// TestFaultsPageNamesWorkloadsAndOracles: docs/faults.md has a row for each workload and oracle.
func TestFaultsPageNamesWorkloadsAndOracles(t *testing.T) {
	page := readPage(t, "docs/faults.md")
	standard, byName, _ := strings.Cut(page, "These run by name")
	for _, w := range workloads.All() {
		in, where := byName, "those that run by name"
		if w.Standard {
			in, where = standard, "the standard workloads"
		}
		if !strings.Contains(in, "\n| `"+w.Name+"` | ") {
			t.Errorf("docs/faults.md lacks a row for the workload %s among %s", w.Name, where)
		}
	}
	_, oracles, _ := strings.Cut(page, "## Oracles")
	for _, o := range checker.Oracles() {
		if !strings.Contains(oracles, "\n| `"+o.Name+"` | ") {
			t.Errorf("docs/faults.md lacks a row for the oracle %s", o.Name)
		}
	}
}

// TestPagesCallTheProgramAsPrintedCommandsDo checks that pages call the program lockstorm, and say
// how to install it before they first use it.
func TestPagesCallTheProgramAsPrintedCommandsDo(t *testing.T) {
	for _, page := range pages(t) {
		if strings.Contains(readPage(t, page), "    bin/lockstorm") {
			t.Errorf("%s calls bin/lockstorm; printed commands say lockstorm", page)
		}
	}
	text := readPage(t, "README.md")
	path, use := strings.Index(text, `export PATH="$PWD/bin:$PATH"`), strings.Index(text, "\n    lockstorm ")
	if path < 0 || use < path {
		t.Errorf("README.md says how to have lockstorm on the PATH at %d, and uses it at %d", path, use)
	}
}

// TestReplayLinesOfPagesAreTested checks that each replay line with a hash is also in
// docs/recipes.md, because another test runs the lines of that page.
func TestReplayLinesOfPagesAreTested(t *testing.T) {
	tested := readPage(t, "docs/recipes.md")
	for _, page := range pages(t) {
		for _, line := range regexp.MustCompile(`lockstorm replay .* --hash [0-9a-f]+`).FindAllString(readPage(t, page), -1) {
			if !strings.Contains(tested, line) {
				t.Errorf("%s has a line that no test replays: %s", page, line)
			}
		}
	}
}

// TestLinksOfPagesLead checks that each relative link names an existing file, and each anchor an
// existing heading.
func TestLinksOfPagesLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings := map[string][]string{} // the anchors of headings, by page
	for _, page := range append(pages(t), "CHANGELOG.md") {
		for _, l := range link.FindAllStringSubmatch(readPage(t, page), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(l[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join("../../..", target)); err != nil {
				t.Errorf("%s links to %s: %v", page, l[1], err)
				continue
			}
			if anchor == "" {
				continue
			}
			if headings[target] == nil {
				headings[target] = anchors(readPage(t, target))
			}
			if !slices.Contains(headings[target], anchor) {
				t.Errorf("%s links to %s, but %s has no such heading", page, l[1], target)
			}
		}
	}
}

// anchors returns the anchors that GitHub derives from a page's headings.
func anchors(page string) []string {
	var all []string
	heading, dropped := regexp.MustCompile("(?m)^#+ (.+)$"), regexp.MustCompile(`[^\p{L}\p{N}_-]`)
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		text := strings.ReplaceAll(strings.ToLower(h[1]), " ", "-")
		all = append(all, dropped.ReplaceAllString(text, ""))
	}
	return all
}

// TestFlawsOfContributingAreThoseOfItsModel: the recipe of docs/contributing.md differs from
// set-nx-px only in its release, so it must declare the same groups of flaws. Otherwise the run in
// step 4 of that page would not end with exit code 0.
func TestFlawsOfContributingAreThoseOfItsModel(t *testing.T) {
	groups := func(page string) []string {
		line := flawsLine.FindString(readPage(t, page))
		return regexp.MustCompile(`[a-zA-Z]+\(`).FindAllString(line, -1)
	}
	got, want := groups("docs/contributing.md"), groups("locks/set_nx_px.go")
	if len(want) < 2 || !slices.Equal(got, want) {
		t.Errorf("docs/contributing.md has its recipe declare %v, locks/set_nx_px.go declares %v", got, want)
	}
}

// flawsLine matches the field of a recipe that declares its flaws.
var flawsLine = regexp.MustCompile(`(?m)^\t\tFlaws: +flaws\(.*\),$`)

// TestExamplesOfContributingCompile builds the files that readers of docs/contributing.md and
// docs/contributing-a-fault.md write, together with the packages to which the files belong. The
// test adds the flaws of step 4 to the recipe.
func TestExamplesOfContributingCompile(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)`([a-z]+/[a-z_]+\\.go)`:\n\n```go\n(.*?)```").FindAllStringSubmatch(readPage(t, "docs/contributing.md")+readPage(t, "docs/contributing-a-fault.md"), -1)
	if len(examples) != 2 {
		t.Fatalf("the pages have %d files to write, expected a recipe and a fault", len(examples))
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	flaws := flawsLine.FindString(readPage(t, "docs/contributing.md"))
	for _, e := range examples {
		if strings.HasPrefix(e[1], "locks/") { // step 4 of the page adds the flaws
			e[2] = strings.Replace(e[2], "\t\tNew: ", flaws+"\n\t\tNew: ", 1)
		}
		written := filepath.Join(t.TempDir(), "example.go")
		if err := os.WriteFile(written, []byte(e[2]), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, e[1])] = written
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", file, "./locks", "./nemesis")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("the files of the pages do not compile: %v\n%s", err, out)
	}
}
