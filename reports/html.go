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

// page is the template of report.html. Pictures are this package's own, whose
// texts are escaped already; everything else is escaped here.
var page = template.Must(template.New(HTMLFile).Funcs(template.FuncMap{
	"picture":  func(drawn []byte) template.HTML { return template.HTML(svg.Inline(drawn)) },
	"prose":    withCode,
	"sentence": prose.Sentence,
	"instant":  prose.Instant,
	"anchor":   anchor,
	"color":    func(s string) template.CSS { return template.CSS(svg.Hex(svg.Color(s))) },
}).Parse(pageText))

// htmlReport writes a campaign as one page that needs nothing else.
func htmlReport(r result, plots []plotView) ([]byte, error) {
	v := newView(r)
	v.Plots = plots
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		view
		Style                   template.CSS
		WhatBroke, WhatPrevents string
		UndecidedAdvice         string
	}{v, template.CSS(pageStyle), story.WhatBroke, story.WhatPrevents, undecidedAdvice})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", HTMLFile, err)
	}
	return svg.Compact(b.Bytes()), nil
}

// withCode is text with code in backticks.
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
