package svg

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	svgStyle = regexp.MustCompile(` style="([^"]*)"`)
	svgPlace = regexp.MustCompile(` (?:d|x|y)="[^"]*"`)
	svgPath  = regexp.MustCompile(`^<path d="([^"]*)"( class="[^"]*" />)$`)
	decimals = regexp.MustCompile(`(\.\d)\d+`)
	wholes   = regexp.MustCompile(`\.0([^0-9])`)
)

// Sheet collects the styles of a page's pictures as classes, so that each style stands in the page
// once. The zero value is empty and ready. It is not safe for concurrent use.
type Sheet struct {
	class map[string]string // class by style
	rules strings.Builder
}

// Rules returns the style sheet for the pictures compacted so far.
func (s *Sheet) Rules() string { return s.rules.String() }

// Compact returns the picture in fewer bytes, usually less than half. The page that shows it must contain
// Rules. Styles become classes, coordinates are cut to tenths of a point, successive paths of one style are
// joined, and the coordinates of paths become relative.
func (s *Sheet) Compact(picture []byte) []byte {
	picture = toTenths(picture)
	picture = svgStyle.ReplaceAllFunc(picture, func(attribute []byte) []byte {
		return fmt.Appendf(nil, ` class="%s"`, s.classOf(string(svgStyle.FindSubmatch(attribute)[1])))
	})
	return []byte(onePath(string(picture)))
}

func toTenths(picture []byte) []byte {
	return svgPlace.ReplaceAllFunc(picture, func(place []byte) []byte {
		return wholes.ReplaceAll(decimals.ReplaceAll(place, []byte("$1")), []byte("$1"))
	})
}

func (s *Sheet) classOf(style string) string {
	if s.class == nil {
		s.class = map[string]string{}
	}
	name, ok := s.class[style]
	if !ok {
		name = fmt.Sprintf("i%d", len(s.class))
		s.class[style] = name
		fmt.Fprintf(&s.rules, ".%s{%s}\n", name, style+halo(style))
	}
	return name
}

// halo returns the CSS of an outline that keeps text readable on light and dark pages; "" for
// styles of shapes.
func halo(style string) string {
	switch {
	case !strings.Contains(style, "font-"):
		return ""
	case strings.Contains(style, "fill:"+Hex(OnInk)):
		return ";paint-order:stroke;stroke:#000000a0;stroke-width:2px;stroke-linejoin:round"
	}
	return ";paint-order:stroke;stroke:var(--paper);stroke-width:2px;stroke-linejoin:round"
}

// onePath joins successive paths of one class, and makes each path relative. Each path must be on
// one line.
func onePath(picture string) string {
	var out, d strings.Builder
	open := "" // the end of the unfinished path's line
	finish := func() {
		if open != "" {
			out.WriteString(`<path d="` + relative(d.String()) + `"` + open + "\n")
			open = ""
			d.Reset()
		}
	}
	for line := range strings.Lines(picture) {
		path := svgPath.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if path == nil || path[2] != open {
			finish()
		}
		if path == nil {
			out.WriteString(line)
			continue
		}
		d.WriteString(path[1])
		open = path[2]
	}
	finish()
	return out.String()
}
