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
	"sort"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
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
	text, err := executed("note", c)
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
func (e *evidence) add(c *cellDetail) (err error) {
	for _, p := range c.Story.Prevented {
		c.Remedies = append(c.Remedies, e.share(wording.Sentence(p)))
	}
	drawn := c.Drawn
	if c.Undeclared() && len(drawn) <= e.plain {
		e.plain -= len(drawn)
		c.PlainDrawn, drawn = template.HTML(drawn), ""
	}
	var text, stored, entries string
	for name, piece := range map[string]*string{"story": &text, "stored": &stored, "entries": &entries} {
		if *piece, err = executed(name, *c); err != nil {
			return err
		}
	}
	if c.Undeclared() {
		c.Plain, c.PlainStored, text, stored = template.HTML(text), template.HTML(stored), "", ""
	}
	c.Number = len(e.Stories)
	e.Stories, e.Timelines = append(e.Stories, text), append(e.Timelines, drawn)
	e.Entries, e.Stored = append(e.Entries, entries), append(e.Stored, stored)
	e.ranks = append(e.ranks, plots.RankOf(c.Class))
	return nil
}

// executed executes a template of the page, or of a part of it.
func executed(name string, data any) (string, error) {
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("write %s: %w", HTMLFile, err)
	}
	return b.String(), nil
}

// data returns the page's data, compressed; "" if there are none. If they exceed budget, it leaves out as few pieces as
// fit, by steps of a 128th of them. The stories always stay, even if they alone exceed budget.
func (e *evidence) data(budget int) (packed template.HTML, err error) {
	if len(e.Stories)+len(e.Plots)+len(e.Notes) == 0 {
		return "", nil
	}
	order := e.spared()
	fits := func(n int) bool {
		if err == nil {
			packed, err = compressed(e.without(order[:n]))
		}
		return err != nil || len(packed) <= budget
	}
	// Every attempt compresses everything: a search among all numbers of pieces would take a third longer.
	const steps = 128
	step := func(i int) int { return (len(order)*(i+1) + steps - 1) / steps }
	if !fits(0) {
		fits(step(sort.Search(steps-1, func(i int) bool { return fits(step(i)) })))
	}
	return packed, err
}

// piece is a part of the data that the page can do without: the commands around a violation, or a timeline.
type piece struct {
	timeline bool
	index    int
}

// spared returns the pieces in the order in which they are left out: the commands, beginning with the mildest verdicts,
// then the timelines, beginning with the largest.
func (e *evidence) spared() (order []piece) {
	for i := range e.Entries {
		order = append(order, piece{false, i})
	}
	slices.SortStableFunc(order, func(a, b piece) int { return cmp.Compare(e.ranks[b.index], e.ranks[a.index]) })
	n := len(order)
	for i := range e.Timelines {
		order = append(order, piece{true, i})
	}
	slices.SortStableFunc(order[n:], func(a, b piece) int {
		return cmp.Compare(len(e.Timelines[b.index]), len(e.Timelines[a.index]))
	})
	return order
}

// elsewhere replaces commands that do not fit in the page.
const elsewhere = `<p class="note">This page has no room for the commands around it: they are in the trial's counterexample.md.</p>` + "\n"

// without returns the data without some pieces.
func (e *evidence) without(pieces []piece) pageData {
	out := e.pageData
	out.Entries, out.Timelines = slices.Clone(out.Entries), slices.Clone(out.Timelines)
	for _, p := range pieces {
		if p.timeline {
			out.Timelines[p.index] = ""
		} else if out.Entries[p.index] != "" {
			out.Entries[p.index] = elsewhere
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
