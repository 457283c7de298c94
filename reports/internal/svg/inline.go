package svg

import (
	"image/color"
	"regexp"
	"strings"
)

// Inline prepares a picture for an HTML page: it removes the prologue and the fixed size, and uses
// the page's own inks, so that the picture follows light and dark mode.
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
