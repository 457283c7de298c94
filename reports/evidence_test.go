package reports

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
)

var packedEvidence = regexp.MustCompile(`(<script type="application/gzip;base64" id="evidence">)([^<]*)(</script>)`)

// pageDataOf returns the unpacked data of a page.
func pageDataOf(t *testing.T, html []byte) pageData {
	t.Helper()
	found := packedEvidence.FindSubmatch(html)
	if found == nil {
		return pageData{}
	}
	packed, err := base64.StdEncoding.DecodeString(string(found[2]))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var all pageData
	if err := json.NewDecoder(plain).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// expanded returns a page with its data as text, because compressed bytes may differ between
// releases of Go.
func expanded(t *testing.T, html []byte) []byte {
	t.Helper()
	var text strings.Builder
	all := pageDataOf(t, html)
	for i, told := range all.Stories {
		text.WriteString("\n" + told + all.Entries[i] + all.Stored[i])
	}
	for _, id := range slices.Sorted(maps.Keys(all.Notes)) {
		text.WriteString("\n" + id + ": " + all.Notes[id])
	}
	text.WriteString("\n" + strings.Join(all.Plots, "\n"))
	return packedEvidence.ReplaceAllFunc(html, func(whole []byte) []byte {
		parts := packedEvidence.FindSubmatch(whole)
		return []byte(string(parts[1]) + text.String() + string(parts[3]))
	})
}

// undeclareFirst makes the first flaw of the first violated cell undeclared, and returns the cell.
func undeclareFirst(t *testing.T, r result) campaign.Cell {
	t.Helper()
	for i, c := range r.Matrix.Cells {
		d, ok := r.Details[c.Dir]
		if !ok || len(c.Flaws) == 0 || d.Story.Empty() {
			continue
		}
		c.Flaws = append(c.Flaws[:0:0], c.Flaws...)
		c.Flaws[0].Kind, c.Kind = "", ""
		r.Matrix.Cells[i] = c
		return c
	}
	t.Fatal("no violated cell")
	return campaign.Cell{}
}

func TestPageHasEveryStoryAndPictureOnce(t *testing.T) {
	r := sampleResult(t)
	html, err := htmlReport(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := pageDataOf(t, html)
	page := string(html)
	seen := map[int]bool{}
	for _, recipe := range newView(r, nil).Details {
		for _, c := range recipe.Cells {
			if !c.Told() {
				continue
			}
			places := regexp.MustCompile(`id="`+c.Anchor+`" data-evidence="(\d+)"`).FindAllStringSubmatch(page, -1)
			if len(places) != 1 {
				t.Fatalf("%s is %d times in the page, want once", c.Title, len(places))
			}
			n, err := strconv.Atoi(places[0][1])
			if err != nil || n >= len(all.Timelines) || seen[n] {
				t.Fatalf("%s: its number is %s (%v), want one of its own below %d", c.Title, places[0][1], err, len(all.Timelines))
			}
			seen[n] = true
			if c.Drawn == "" || all.Timelines[n] != c.Drawn && !strings.Contains(page, c.Drawn) {
				t.Errorf("%s: its timeline is not in the page", c.Title)
			}
			for _, s := range c.Story.Steps {
				if !strings.Contains(all.Stories[n]+page, wording.Instant(s.At)) { // in page: the story of an undeclared flaw
					t.Errorf("%s: the story lacks the step at %s", c.Title, wording.Instant(s.At))
				}
			}
			for _, p := range c.Story.Prevented {
				if n := strings.Count(page, ">"+string(withCode(wording.Sentence(p)))+"<"); n != 1 {
					t.Errorf("%d times in the page, want once: %s", n, p)
				}
			}
		}
	}
}

// The page loads nothing and links only to itself. Without its script it has the command of each violated cell,
// and the story of what is not declared.
func TestThePageStandsAlone(t *testing.T) {
	r := sampleResult(t)
	undeclared := undeclareFirst(t, r)
	html, err := htmlReport(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, plain := string(expanded(t, html)), string(packedEvidence.ReplaceAll(html, nil))
	if m := regexp.MustCompile(`(?:href|src)="[^#"][^"]*"|@import|url\([^#]|fetch\(`).FindString(whole); m != "" {
		t.Errorf("the page loads or links to %s", m)
	}
	var wanted []string
	for _, c := range r.Matrix.Cells {
		if newViewCell(c).Anchor != "" && c.Replay != "" {
			wanted = append(wanted, c.Replay)
		}
	}
	told := r.Details[undeclared.Dir].Story
	for _, s := range told.Steps {
		wanted = append(wanted, wording.Sentence(s.Text))
	}
	for _, want := range append(wanted, told.Broken) {
		if !strings.Contains(plain, string(withCode(want))) {
			t.Errorf("the page itself lacks %s", want)
		}
	}
}

func TestEvidenceStaysWithinItsBudget(t *testing.T) {
	e := evidence{}
	for i := range 40 {
		random := make([]byte, 3000)
		rand.NewChaCha8([32]byte{byte(i)}).Read(random)
		text := base64.StdEncoding.EncodeToString(random)
		e.Stories, e.Timelines = append(e.Stories, "story"), append(e.Timelines, "")
		e.Entries, e.Stored = append(e.Entries, text), append(e.Stored, "")
		e.ranks = append(e.ranks, i%len(plots.Verdicts))
	}
	for _, c := range []struct {
		budget     int
		some, none bool // whether some of the commands are in the page, and whether none is
	}{{250_000, true, false}, {120_000, true, false}, {1, false, true}} {
		packed, err := e.data(c.budget)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(packed); n > c.budget && c.budget > 1 {
			t.Errorf("budget %d: %d bytes", c.budget, n)
		}
		whole := pageDataOf(t, []byte(`<script type="application/gzip;base64" id="evidence">`+string(packed)+`</script>`))
		out, there, missing := 0, -1, len(plots.Verdicts) // the mildest verdict whose commands are there, and the worst whose are not
		for i, text := range whole.Entries {
			if text != elsewhere {
				there = max(there, e.ranks[i])
			} else {
				out, missing = out+1, min(missing, e.ranks[i])
			}
		}
		if (there >= 0) != c.some || (there < 0) != c.none || there > missing {
			t.Errorf("budget %d: the commands of verdicts up to %d are there, those from %d are not", c.budget, there, missing)
		}
		if out > 0 && sizeOf(t, e.without(e.spared()[:out-1])) <= c.budget {
			t.Errorf("budget %d: the commands of %d trials were left out, one too many", c.budget, out)
		}
	}
}

func sizeOf(t *testing.T, data pageData) int {
	t.Helper()
	packed, err := compressed(data)
	if err != nil {
		t.Fatal(err)
	}
	return len(packed)
}

// Timelines are left out only after everything else, the largest first, and as few as possible.
func TestThePageLeavesOutItsLargestTimelines(t *testing.T) {
	for name, size := range map[string]func(i int) int{
		"growing":  func(i int) int { return 100 * (i + 1) },
		"alike":    func(int) int { return 2000 },
		"one huge": func(i int) int { return 1000 + i/39*100_000 },
		"empty":    func(i int) int { return i / 20 * 4000 },
	} {
		t.Run(name, func(t *testing.T) { leavesOutTheLargest(t, size) })
	}
}

func leavesOutTheLargest(t *testing.T, size func(i int) int) {
	var e evidence
	for i := range 40 {
		random := make([]byte, 1+size(i))
		rand.NewChaCha8([32]byte{byte(i)}).Read(random)
		text := base64.StdEncoding.EncodeToString(random)
		e.Stories, e.Timelines = append(e.Stories, "story"), append(e.Timelines, text)
		e.Entries, e.Stored = append(e.Entries, "entries"), append(e.Stored, "stored")
		e.ranks = append(e.ranks, 0)
	}
	for _, budget := range []int{500_000, 80_000, 40_000, 1} {
		packed, err := e.data(budget)
		if err != nil {
			t.Fatal(err)
		}
		whole := pageDataOf(t, []byte(`<script type="application/gzip;base64" id="evidence">`+string(packed)+`</script>`))
		out, largest, smallest := 0, 0, math.MaxInt // of the timelines that are there, and of those that are not
		for i, text := range whole.Timelines {
			if text != "" {
				largest = max(largest, len(text))
			} else {
				out, smallest = out+1, min(smallest, len(e.Timelines[i]))
			}
		}
		switch {
		case largest > smallest:
			t.Errorf("budget %d: a timeline of %d bytes is there, one of %d is not", budget, largest, smallest)
		case len(packed) > budget && out < len(e.Timelines):
			t.Errorf("budget %d: %d bytes, and only %d timelines were left out", budget, len(packed), out)
		case out > 0 && sizeOf(t, e.without(e.spared()[:len(e.Entries)+out-1])) <= budget:
			t.Errorf("budget %d: %d timelines were left out, one too many", budget, out)
		}
	}
}
