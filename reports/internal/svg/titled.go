package svg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
)

var numbered = regexp.MustCompile(`<g transform="translate\((\d+), 0\)"\s*>`)

// Titled gives each group that Canvas.Group drew its title, titles[n]: browsers show it while
// the pointer is on the group. A picture is drawn correctly only after that.
func Titled(picture []byte, titles []string) []byte {
	return numbered.ReplaceAllFunc(picture, func(open []byte) []byte {
		n, err := strconv.Atoi(string(numbered.FindSubmatch(open)[1]))
		if err != nil || n >= len(titles) {
			return []byte("<g>")
		}
		var text bytes.Buffer
		_ = xml.EscapeText(&text, []byte(titles[n])) // a bytes.Buffer returns no errors
		return fmt.Appendf(nil, `<g><title>%s</title>`, bytes.ReplaceAll(text.Bytes(), []byte("&#xA;"), []byte("\n")))
	})
}
