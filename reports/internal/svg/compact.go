package svg

import (
	"bytes"
	"fmt"
	"image/color"
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

// Compact makes a page with hundreds of pictures smaller by half: a style that
// pictures share is written once, as a class, places are given to a tenth of a
// point, and strokes of one style in a row are one path.
func Compact(page []byte) []byte {
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

// Inline prepares a picture for a page of HTML: without prologue, as wide as
// its place, and in the page's own inks, so that it follows light and dark.
func Inline(picture []byte) string {
	s := string(picture)
	if i := strings.Index(s, "<svg"); i >= 0 {
		s = s[i:]
	}
	open := svgOpen.FindString(s)
	tag := svgSize.ReplaceAllString(open, "")
	s = strings.Replace(s, open, tag, 1)
	for _, v := range pageInks {
		s = strings.ReplaceAll(s, ":"+Hex(v.ink), ":var(--"+v.name+","+Hex(v.ink)+")")
	}
	return s
}

var svgSize = regexp.MustCompile(` (width|height)="[^"]*"`)

// pageInks are the inks that a page redefines for dark screens.
var pageInks = []struct {
	name string
	ink  color.NRGBA
}{{"paper", Paper}, {"ink", Ink}, {"muted", Muted}, {"rule", Rule}, {"wash", Wash}, {"alarm", Alarm}, {"doubt", Doubt}}
