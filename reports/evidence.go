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

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/story"
)

// pageSize is the maximum size of report.html in bytes. Stories are always in the page. Pictures
// and commands that do not fit are only in the folders of the trials.
const pageSize = 1_950_000

// pageData is the data of the page: pieces of HTML and SVG that the page's script inserts. Pieces of one kind are stored together, because that compresses better. Equal
// indices in Stories, Timelines, Entries and Stored belong together. Each may be "".
type pageData struct {
	Stories   []string `json:"stories"`
	Timelines []string `json:"timelines"`
	Entries   []string `json:"entries"` // the commands around the violation
	Stored    []string `json:"stored"`  // pieces that need the campaign's folder
	Plots     []string `json:"plots"`
	// Notes has the notes about cells without a violation, by the cells' IDs.
	Notes map[string]string `json:"notes"`
}

// evidence collects the compressed part of report.html: pictures and stories are nine tenths of
// the page. It also collects the texts that many stories share: each stands in the page once.
type evidence struct {
	pageData
	ranks     []int // the rank of each story's verdict; 0 is the worst
	prevented []sharedText
	index     map[string]int // position of a text in prevented
	plain     int            // how many bytes of timelines the page itself has room for
}

// sharedText is a text that several stories share. ID is the ID of its element in the page.
type sharedText struct {
	ID, Text string
	Count    int // number of stories
}

// share counts one more story with the text, and returns the shared text.
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

// note adds the note about a cell. It skips violated cells, and places of the matrix without a
// cell.
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

// add adds a cell's story and pictures, and sets c.Number. If the cell shows an undeclared flaw,
// its story becomes part of the page itself: it can be read without the script.
func (e *evidence) add(c *cellDetail, d detail) error {
	var remedies []sharedText
	for _, p := range c.Story.Prevented {
		remedies = append(remedies, e.share(wording.Sentence(p)))
	}
	text, err := piece("story", struct {
		cellDetail
		Remedies []sharedText
	}{*c, remedies})
	if err != nil {
		return err
	}
	stored, err := piece("stored", *c)
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
	drawn := c.Drawn
	if c.Undeclared() {
		c.Plain, c.PlainStored, text, stored = template.HTML(text), template.HTML(stored), "", ""
		if len(drawn) <= e.plain {
			e.plain -= len(drawn)
			c.PlainDrawn, drawn = template.HTML(drawn), ""
		}
	}
	c.Number = len(e.Stories)
	e.Stories, e.Timelines = append(e.Stories, text), append(e.Timelines, drawn)
	e.Entries, e.Stored = append(e.Entries, entries), append(e.Stored, stored)
	e.ranks = append(e.ranks, slices.IndexFunc(verdictWords, func(w wordText) bool { return w.Class == c.Class }))
	return nil
}

// piece executes a named part of the page's template.
func piece(name string, data any) (string, error) {
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("write the %s of %s: %w", name, HTMLFile, err)
	}
	return b.String(), nil
}

// data returns the page's data, compressed; "" if there are none. If they exceed budget, it leaves
// parts out: first the commands around the violations, beginning with the mildest verdicts, then the
// largest timelines. The stories always stay, even if they alone exceed budget.
func (e *evidence) data(budget int) (packed template.HTML, err error) {
	if len(e.Stories)+len(e.Plots)+len(e.Notes) == 0 {
		return "", nil
	}
	if packed, err = compressed(e.within(-1)); err != nil {
		return "", err
	}
	if len(packed) > budget {
		return e.fewer(len(packed), budget)
	}
	for worst := len(verdictWords); worst >= 0; worst-- {
		if more, err := compressed(e.within(worst)); err != nil || len(more) <= budget {
			return more, err
		}
	}
	return packed, nil
}

// fewer returns the compressed data without the commands and without the largest timelines: it leaves out as few as the
// budget allows. size is the compressed size with all timelines. Compressing is slow, so every second number that it
// tries is a guess: the right one, if each timeline's share were equal. The others halve what is left.
func (e *evidence) fewer(size, budget int) (template.HTML, error) {
	least := len(e.Timelines) // the least number of timelines left out that is known to fit, if any does
	packed, err := compressed(e.without(least))
	if err != nil {
		return "", err
	}
	most := 0 // the greatest number that does not fit
	for n := 0; least-most > 1 && len(packed) < budget; n++ {
		guess := (least + most) / 2
		if n%2 == 0 {
			guess = least - (least-most)*(budget-len(packed))/(size-len(packed))
		}
		guess = min(max(guess, most+1), least-1)
		tried, err := compressed(e.without(guess))
		if err != nil {
			return "", err
		}
		if len(tried) <= budget {
			least, packed = guess, tried
		} else {
			most, size = guess, len(tried)
		}
	}
	return packed, nil
}

// without returns less data: it omits the commands around the violations and the given number
// (large) of timelines, the largest first.
func (e *evidence) without(large int) pageData {
	out := e.within(-1)
	out.Timelines = slices.Clone(out.Timelines)
	order := make([]int, len(out.Timelines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(out.Timelines[b]) - len(out.Timelines[a]) })
	for _, i := range order[:min(large, len(order))] {
		out.Timelines[i] = ""
	}
	return out
}

// elsewhere replaces commands that do not fit in the page.
const elsewhere = `<p class="note">This page has no room for the commands around it: they are in the trial's counterexample.md.</p>` + "\n"

// within returns the data with the commands only of verdicts up to a rank; 0 is the worst.
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

// compressed returns a value as JSON, compressed with gzip, in base64. Browsers since 2023 can
// decompress it without a library.
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
