package reports

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
)

var packedEvidence = regexp.MustCompile(`(<script type="application/gzip;base64" id="evidence">)([^<]*)(</script>)`)

// exhibitsOf returns the data of a page.
func exhibitsOf(t *testing.T, html []byte) exhibits {
	t.Helper()
	found := packedEvidence.FindSubmatch(html)
	if found == nil {
		return exhibits{}
	}
	packed, err := base64.StdEncoding.DecodeString(string(found[2]))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var all exhibits
	if err := json.NewDecoder(plain).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// expanded returns a page with its data as text: a compressor's bytes may differ from one
// release of Go to the next.
func expanded(t *testing.T, html []byte) []byte {
	t.Helper()
	var text strings.Builder
	all := exhibitsOf(t, html)
	for i, told := range all.Stories {
		text.WriteString("\n" + told + all.Timelines[i])
	}
	text.WriteString("\n" + strings.Join(all.Plots, "\n"))
	return packedEvidence.ReplaceAllFunc(html, func(whole []byte) []byte {
		parts := packedEvidence.FindSubmatch(whole)
		return []byte(string(parts[1]) + text.String() + string(parts[3]))
	})
}

// undeclareFirst makes the first violated cell of a campaign one that its recipe does not
// declare, and returns it.
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
	all := exhibitsOf(t, html)
	page := string(html)
	for _, recipe := range newView(r).Details {
		for _, c := range recipe.Cells {
			if !c.Told() {
				continue
			}
			count := 0
			for i, drawn := range all.Timelines {
				if strings.Contains(drawn, "<title>"+c.Title+":") {
					count++
					for _, s := range c.Story.Steps {
						if !strings.Contains(all.Stories[i]+page, prose.Instant(s.At)) { // page: if it is not declared
							t.Errorf("%s: the story lacks the step at %s", c.Title, prose.Instant(s.At))
						}
					}
				}
			}
			if count != 1 {
				t.Errorf("%s: %d timelines, want 1", c.Title, count)
			}
			for _, p := range c.Story.Prevented {
				if n := strings.Count(page, ">"+string(withCode(prose.Sentence(p)))+"<"); n != 1 {
					t.Errorf("%d times in the page, want once: %s", n, p)
				}
			}
		}
	}
}

func TestWhatIsNotDeclaredIsReadableWithoutScripts(t *testing.T) {
	r := sampleResult(t)
	cell := undeclareFirst(t, r)
	html, err := htmlReport(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := string(packedEvidence.ReplaceAll(html, nil))
	told := r.Details[cell.Dir].Story
	for _, s := range told.Steps {
		if want := string(withCode(prose.Sentence(s.Text))); !strings.Contains(plain, want) {
			t.Errorf("the page itself lacks %s", want)
		}
	}
	if want := string(withCode(told.Broken)); !strings.Contains(plain, want) {
		t.Errorf("the page itself lacks %s", want)
	}
}

func TestCellsAreReadableWithoutScripts(t *testing.T) {
	r := sampleResult(t)
	html, err := htmlReport(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := packedEvidence.ReplaceAll(html, nil)
	for _, c := range r.Matrix.Cells {
		if newViewCell(c).Anchor == "" || c.Replay == "" {
			continue
		}
		if want := withCode(c.Replay); !bytes.Contains(plain, []byte(want)) {
			t.Errorf("%s under %s: the page itself lacks %s", c.Lock, c.Fault, want)
		}
	}
}
