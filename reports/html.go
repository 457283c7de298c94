package reports

import (
	_ "embed"
	"html/template"
	"path"
	"strings"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/reports/timeline"
)

//go:embed report.html.tmpl
var pageText string

//go:embed cell.html.tmpl
var cellText string

//go:embed report.css
var pageStyle string

//go:embed report.js
var pageScript string

// page is the template of report.html. It escapes everything except values of package template's
// types, such as pieces and pictures, whose texts are already escaped.
var page = template.Must(template.Must(template.New(HTMLFile).Funcs(template.FuncMap{
	"prose":     withCode,
	"sentence":  wording.Sentence,
	"instant":   wording.Instant,
	"stamp":     wording.Stamp,
	"anchor":    anchor,
	"plural":    plural,
	"inFolder":  inFolder,
	"whatBroke": func() string { return story.WhatBroke },
	"ordered":   func() string { return story.Ordered },
}).Parse(pageText)).Parse(cellText))

// plural returns the word for n things. The plural has an s unless words[0] gives it.
func plural(n int, word string, words ...string) string {
	if n != 1 && len(words) > 0 {
		return words[0]
	}
	return wording.Plural(n, word)
}

// inFolder names the place of a file that is not in the page. It is not a link: a link would be
// dead in a page that was sent without its folder.
func inFolder(name string) string { return "in the campaign's folder, " + path.Clean(name) }

// htmlReport returns a campaign as one self-contained page.
func htmlReport(r result, drawn []plots.Plot) ([]byte, error) {
	content := pageContent{view: newView(r, drawn), UndecidedAdvice: undecidedAdvice, RenewalWords: renewalWords}
	told, err := r.evidence(content.view)
	if err != nil {
		return nil, err
	}
	shared, err := timeline.Shared()
	if err != nil {
		return nil, err
	}
	content.Remedies, content.Shared = told.remedies(), template.HTML(`<svg class="symbols" aria-hidden="true">`+svg.Defs+"</svg>\n"+string(shared))
	content.Style, content.Script = template.CSS(pageStyle+timeline.Style), cdata(timeline.Script+pageScript)
	content.Evidence = " " // the page's size counts what stands around the evidence
	plain, err := executed(HTMLFile, content)
	if err != nil {
		return nil, err
	}
	if content.Evidence, err = told.data(pageSize - len(plain)); err != nil {
		return nil, err
	}
	whole, err := executed(HTMLFile, content)
	return []byte(whole), err
}

// pageContent is the input of the page's template.
type pageContent struct {
	view
	Remedies        []sharedText
	Style           template.CSS
	Script          template.JS
	Shared          template.HTML // by all timelines
	Evidence        template.HTML
	UndecidedAdvice string
	RenewalWords    string
}

// evidence collects the stories and pictures of a page.
func (r result) evidence(v view) (*evidence, error) {
	told := &evidence{plain: pageSize / 8}
	for _, p := range v.Plots {
		told.Plots = append(told.Plots, p.Picture.Inline())
	}
	for _, row := range v.Rows {
		for _, c := range row.Cells {
			if err := told.note(c); err != nil {
				return nil, err
			}
		}
	}
	for _, d := range v.Details {
		for i := range d.Cells {
			c := &d.Cells[i]
			if !c.Told() {
				continue
			}
			if err := told.add(c); err != nil {
				return nil, err
			}
		}
	}
	return told, nil
}

// cdata wraps a script as CDATA, within the script's comments, so that XML parsers accept < and &
// in it.
func cdata(script string) template.JS {
	return template.JS("//<![CDATA[\n" + script + "//]]>\n")
}

// withCode returns the text as HTML. Words in backticks become code elements.
func withCode(s string) template.HTML {
	parts := strings.Split(s, "`")
	for i := range parts {
		parts[i] = template.HTMLEscapeString(parts[i])
		if i%2 == 1 && i < len(parts)-1 {
			parts[i] = "<code>" + parts[i] + "</code>"
		}
	}
	return template.HTML(strings.Join(parts, ""))
}
