package reports

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"

	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/reports/timeline"
)

// pageSize is how many bytes report.html may have. What has no room is only in the folders of
// the trials; the stories always have.
const pageSize = 1_950_000

// pageData is the data of the page: pieces of HTML that the page's script puts in place, and
// timelines that it draws. Pieces of one kind are stored together, because they compress
// better. Story, timeline, entries and stored of one number belong together; each may be "",
// a timeline null.
type pageData struct {
	Stories   []string          `json:"stories"`
	Timelines []json.RawMessage `json:"timelines"`
	Entries   []string          `json:"entries"` // the commands around the violation
	Stored    []string          `json:"stored"`  // what needs the campaign's folder
	Plots     []string          `json:"plots"`
	// Notes are about the cells without a violation, by cell.
	Notes map[string]string `json:"notes"`
	// Key is what all timelines have in common, Faults the colours of the faults in them.
	Key    timeline.Key      `json:"key"`
	Faults map[string]string `json:"faults"`
}

// evidence collects what report.html holds compressed, since pictures and stories are nine
// tenths of it; and the texts that many stories share, which stand in the page once.
type evidence struct {
	pageData
	pages     [][]byte // porcupine's, by story; nil = there is none
	ranks     []int    // of each story's verdict, worst first
	prevented []sharedText
	index     map[string]int // position of a text in prevented
	sheet     *svg.Sheet     // of the plots
}

// sharedText is a text that several stories have. ID is that of its element in the page.
type sharedText struct {
	ID, Text string
	Count    int // of the stories
}

// share counts one more story that has the text, and returns it.
func (e *evidence) share(text string) sharedText {
	if e.index == nil {
		e.index = map[string]int{}
	}
	i, ok := e.index[text]
	if !ok {
		i = len(e.prevented)
		e.index[text] = i
		e.prevented = append(e.prevented, sharedText{ID: fmt.Sprintf("prevents-%d", i+1), Text: text})
	}
	e.prevented[i].Count++
	return e.prevented[i]
}

// remedies returns the shared texts, the most frequent first.
func (e *evidence) remedies() []sharedText {
	out := slices.Clone(e.prevented)
	slices.SortStableFunc(out, func(a, b sharedText) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// note puts the text about a cell without a violation into the data.
func (e *evidence) note(c viewCell) error {
	if c.Class == "" || c.Anchor != "" {
		return nil
	}
	text, err := piece("note", c)
	if err != nil {
		return err
	}
	if e.Notes == nil {
		e.Notes = map[string]string{}
	}
	e.Notes[c.ID] = text
	return nil
}

// add puts a cell's story and pictures into the data, and sets c.Number. The story of
// what is not declared becomes part of the page itself: nobody needs a script to read it.
func (e *evidence) add(c *cellDetail, d detail) error {
	var remedies []sharedText
	for _, p := range c.Story.Prevented {
		remedies = append(remedies, e.share(prose.Sentence(p)))
	}
	text, err := piece("story", struct {
		cellDetail
		Remedies []sharedText
	}{*c, remedies})
	if err != nil {
		return err
	}
	stored, err := piece("stored", struct {
		cellDetail
		Picture bool
	}{*c, len(d.Picture) > 0})
	if err != nil {
		return err
	}
	entries := ""
	if len(d.Log) > 0 {
		if entries, err = piece("entries", struct {
			Log  []story.LogLine
			More int
		}{d.Log, d.MoreLog}); err != nil {
			return err
		}
	}
	if c.Undeclared() {
		c.Plain, c.PlainStored, text, stored = template.HTML(text), template.HTML(stored), "", ""
	}
	c.Number = len(e.Stories)
	e.Stories, e.Timelines = append(e.Stories, text), append(e.Timelines, c.Drawn)
	e.Entries, e.Stored = append(e.Entries, entries), append(e.Stored, stored)
	e.pages = append(e.pages, d.Picture)
	e.ranks = append(e.ranks, slices.IndexFunc(verdictWords, func(w wordText) bool { return w.Class == c.Class }))
	return nil
}

// piece returns a part of the page's template as text.
func piece(name string, data any) (string, error) {
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("write the %s of %s: %w", name, HTMLFile, err)
	}
	return b.String(), nil
}

// data returns the page's data and porcupine's pictures, each compressed; "" if there are
// none. If they have more bytes than the budget, the pictures of the least violations are
// left out, then the commands around these, and at last the largest timelines.
func (e *evidence) data(budget int) (packed, pictures template.HTML, err error) {
	if len(e.Stories)+len(e.Plots)+len(e.Notes) == 0 {
		return "", "", nil
	}
	for worst := len(verdictWords); ; worst-- {
		if packed, err = compressed(e.within(worst)); err != nil {
			return "", "", err
		}
		if len(packed) <= budget || worst < 0 {
			break
		}
	}
	for large := fewTimelines; len(packed) > budget && large < 2*len(e.Timelines); large *= 2 {
		if packed, err = compressed(e.without(large)); err != nil {
			return "", "", err
		}
	}
	kept, err := e.pictures(budget - len(packed))
	if err != nil || len(kept.Middles) == 0 {
		return packed, "", err
	}
	pictures, err = compressed(kept)
	return packed, pictures, err
}

// fewTimelines is how many timelines are left out at first, if there is no room for all.
const fewTimelines = 10

// without returns the data without the commands around the violations and without so many
// timelines, the largest.
func (e *evidence) without(large int) pageData {
	out := e.within(-1)
	out.Timelines = slices.Clone(out.Timelines)
	order := make([]int, len(out.Timelines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(out.Timelines[b]) - len(out.Timelines[a]) })
	for _, i := range order[:min(large, len(order))] {
		out.Timelines[i] = nil
	}
	return out
}

// elsewhere replaces the commands that the page has no room for.
const elsewhere = `<p class="note">This page has no room for the commands around it: they are in the trial's counterexample.md.</p>` + "\n"

// within returns the data with the commands of verdicts up to a rank.
func (e *evidence) within(worst int) pageData {
	out := e.pageData
	out.Entries = slices.Clone(out.Entries)
	for i, rank := range e.ranks {
		if rank > worst && out.Entries[i] != "" {
			out.Entries[i] = elsewhere
		}
	}
	return out
}

// compressed returns a value as JSON, compressed with gzip, in base64: every browser since
// 2023 expands that without a library.
func compressed(value any) (template.HTML, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	plain := json.NewEncoder(w)
	plain.SetEscapeHTML(false)
	if err := plain.Encode(value); err != nil {
		return "", fmt.Errorf("compress the evidence: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("compress the evidence: %w", err)
	}
	return template.HTML(base64.StdEncoding.EncodeToString(packed.Bytes())), nil
}
