package reports

import (
	"bytes"
	"fmt"
	"regexp"
)

var (
	svgElement = regexp.MustCompile(`(?s)<svg.*?</svg>`)
	svgStyle   = regexp.MustCompile(` style="([^"]*)"`)
	svgPlace   = regexp.MustCompile(` (?:d|x|y)="[^"]*"`)
	decimals   = regexp.MustCompile(`(\.\d)\d+`)
	styleEnd   = []byte("</style>")
)

// slim makes a page with hundreds of pictures smaller by half: a style that
// pictures share is written once, as a class, and places are given to a tenth of a
// point.
func slim(page []byte) []byte {
	class := map[string]string{}
	var rules bytes.Buffer
	page = svgElement.ReplaceAllFunc(page, func(picture []byte) []byte {
		picture = svgPlace.ReplaceAllFunc(picture, func(place []byte) []byte { return decimals.ReplaceAll(place, []byte("$1")) })
		return svgStyle.ReplaceAllFunc(picture, func(attribute []byte) []byte {
			style := string(svgStyle.FindSubmatch(attribute)[1])
			if class[style] == "" {
				class[style] = fmt.Sprintf("i%d", len(class))
				fmt.Fprintf(&rules, ".%s{%s}\n", class[style], style)
			}
			return fmt.Appendf(nil, ` class="%s"`, class[style])
		})
	})
	return bytes.Replace(page, styleEnd, append(rules.Bytes(), styleEnd...), 1)
}
