package reports

import (
	"bytes"
	_ "embed" // the page and its style
	"fmt"
	"html/template"
	"strings"
)

//go:embed report.html.tmpl
var pageText string

//go:embed report.css
var pageStyle string

// page is the template of report.html. Pictures are this package's own, whose
// texts are escaped already; everything else is escaped here.
var page = template.Must(template.New(HTMLFile).Funcs(template.FuncMap{
	"picture":  func(svg []byte) template.HTML { return template.HTML(inline(svg)) },
	"prose":    prose,
	"sentence": sentence,
	"instant":  instant,
	"anchor":   anchor,
	"color":    func(s string) template.CSS { return template.CSS(hexColor(parseColor(s))) },
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
	}{v, template.CSS(pageStyle), whatBroke, whatPrevents, undecidedAdvice})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", HTMLFile, err)
	}
	return slim(b.Bytes()), nil
}

// prose is text with code in backticks.
func prose(s string) template.HTML {
	parts := strings.Split(s, "`")
	for i := range parts {
		parts[i] = template.HTMLEscapeString(parts[i])
		if i%2 == 1 && i < len(parts)-1 {
			parts[i] = "<code>" + parts[i] + "</code>"
		}
	}
	return template.HTML(strings.Join(parts, ""))
}
