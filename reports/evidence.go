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
)

// exhibits is the page's data: pieces of HTML that the page's script puts in place. Pieces of
// one kind are stored together, because they compress better. Story and timeline i belong
// together; either may be "".
type exhibits struct {
	Stories   []string `json:"stories"`
	Timelines []string `json:"timelines"`
	Plots     []string `json:"plots"`
}

// evidence collects what report.html holds compressed, since pictures and stories are nine
// tenths of it; and the texts that many stories share, which stand in the page once.
type evidence struct {
	exhibits
	prevented []sharedText
	index     map[string]int // position of a text in prevented
	sheet     *svg.Sheet
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

// add puts a cell's story and timeline into the data, and sets c.Exhibit. The story of
// what is not declared becomes part of the page itself: nobody needs a script to read it.
func (e *evidence) add(c *cellDetail) error {
	var remedies []sharedText
	for _, p := range c.Story.Prevented {
		remedies = append(remedies, e.share(prose.Sentence(p)))
	}
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, "story", struct {
		cellDetail
		Remedies []sharedText
	}{*c, remedies}); err != nil {
		return fmt.Errorf("write the story of %s: %w", c.Title, err)
	}
	text, timeline := b.String(), ""
	if c.Undeclared() {
		c.Plain, text = template.HTML(text), ""
	}
	if len(c.Timeline) > 0 {
		timeline = string(e.sheet.Compact([]byte(svg.Inline(c.Timeline))))
	}
	c.Exhibit = len(e.Stories)
	e.Stories, e.Timelines = append(e.Stories, text), append(e.Timelines, timeline)
	return nil
}

// data returns the exhibits as JSON, compressed with gzip, in base64: every browser since
// 2023 expands that without a library.
func (e *evidence) data() (template.HTML, error) {
	if len(e.Stories)+len(e.Plots) == 0 {
		return "", nil
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	plain := json.NewEncoder(w)
	plain.SetEscapeHTML(false)
	if err := plain.Encode(e.exhibits); err != nil {
		return "", fmt.Errorf("compress the evidence: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("compress the evidence: %w", err)
	}
	return template.HTML(base64.StdEncoding.EncodeToString(packed.Bytes())), nil
}
