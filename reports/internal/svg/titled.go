package svg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
)

var numbered = regexp.MustCompile(`<g transform="translate\((\d+), 0\)"\s*>`)

// Titled gives each group of Canvas.Group its title: group n gets titles[n]. Browsers show a title
// while the pointer is on the group. Without Titled, the groups are drawn at wrong places.
func Titled(picture []byte, titles []string) []byte {
	return numbered.ReplaceAllFunc(picture, func(open []byte) []byte {
		n, err := strconv.Atoi(string(numbered.FindSubmatch(open)[1]))
		if err != nil || n >= len(titles) {
			return []byte("<g>")
		}
		var text bytes.Buffer
		_ = xml.EscapeText(&text, []byte(titles[n])) // a bytes.Buffer never returns an error
		return fmt.Appendf(nil, `<g><title>%s</title>`, bytes.ReplaceAll(text.Bytes(), []byte("&#xA;"), []byte("\n")))
	})
}
