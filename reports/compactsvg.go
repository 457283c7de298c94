package reports

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

var (
	svgElement = regexp.MustCompile(`(?s)<svg.*?</svg>`)
	svgStyle   = regexp.MustCompile(` style="([^"]*)"`)
	svgPlace   = regexp.MustCompile(` (?:d|x|y)="[^"]*"`)
	svgPath    = regexp.MustCompile(`^<path d="([^"]*)"( class="[^"]*" />)$`)
	decimals   = regexp.MustCompile(`(\.\d)\d+`)
	wholes     = regexp.MustCompile(`\.0([^0-9])`)
	styleEnd   = []byte("</style>")
)

// slim makes a page with hundreds of pictures smaller by half: a style that
// pictures share is written once, as a class, places are given to a tenth of a
// point, and strokes of one style in a row are one path.
func slim(page []byte) []byte {
	class := map[string]string{}
	var rules bytes.Buffer
	page = svgElement.ReplaceAllFunc(page, func(picture []byte) []byte {
		picture = svgPlace.ReplaceAllFunc(picture, func(place []byte) []byte {
			return wholes.ReplaceAll(decimals.ReplaceAll(place, []byte("$1")), []byte("$1"))
		})
		picture = svgStyle.ReplaceAllFunc(picture, func(attribute []byte) []byte {
			style := string(svgStyle.FindSubmatch(attribute)[1])
			if class[style] == "" {
				class[style] = fmt.Sprintf("i%d", len(class))
				fmt.Fprintf(&rules, ".%s{%s}\n", class[style], style)
			}
			return fmt.Appendf(nil, ` class="%s"`, class[style])
		})
		return []byte(onePath(string(picture)))
	})
	return bytes.Replace(page, styleEnd, append(rules.Bytes(), styleEnd...), 1)
}

// onePath joins paths of one class that follow each other, a line each.
func onePath(picture string) string {
	var out strings.Builder
	open := "" // how the path ends that is being written
	for line := range strings.Lines(picture) {
		path := svgPath.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case path != nil && path[2] == open:
			out.WriteString(path[1])
			continue
		case open != "":
			out.WriteString(`"` + open + "\n")
			open = ""
		}
		if path != nil {
			out.WriteString(`<path d="` + path[1])
			open = path[2]
			continue
		}
		out.WriteString(line)
	}
	return out.String()
}
