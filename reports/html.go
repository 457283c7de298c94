package reports

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/reports/story"
)

//go:embed report.html.tmpl
var pageText string

//go:embed report.css
var pageStyle string

//go:embed report.js
var pageScript string

// page is the template of report.html. It escapes everything but pictures, whose texts are
// escaped already.
var page = template.Must(template.New(HTMLFile).Funcs(template.FuncMap{
	"prose":        withCode,
	"sentence":     prose.Sentence,
	"instant":      prose.Instant,
	"anchor":       anchor,
	"color":        func(s string) template.CSS { return template.CSS(svg.Hex(svg.Color(s))) },
	"whatBroke":    func() string { return story.WhatBroke },
	"whatPrevents": func() string { return story.WhatPrevents },
}).Parse(pageText))

// htmlReport returns a campaign as one self-contained page.
func htmlReport(r result, plots []plotView) ([]byte, error) {
	v := newView(r)
	v.Plots = plots
	var sheet svg.Sheet
	told := evidence{sheet: &sheet}
	for _, p := range plots {
		told.Plots = append(told.Plots, string(sheet.Compact([]byte(svg.Inline(p.Picture)))))
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
	data, err := told.data()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = page.Execute(&b, struct {
		view
		Style           template.CSS
		Script          template.JS
		Evidence        template.HTML
		Remedies        []sharedText
		UndecidedAdvice string
		RenewalWords    string
	}{v, template.CSS(pageStyle + sheet.Rules()), cdata(pageScript), data, told.remedies(), undecidedAdvice, renewalWords})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", HTMLFile, err)
	}
	return b.Bytes(), nil
}

// cdata hides a script's < and & from readers of XML, in comments of the script.
func cdata(script string) template.JS {
	return template.JS("//<![CDATA[\n" + script + "//]]>\n")
}

// withCode returns the text as HTML, with code elements for words in backticks.
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
