package svg

import "strings"

// widths has the letters of Helvetica, Arial and Liberation Sans by their width in thousandths of the font's size.
var widths = map[int]string{
	191: "'", 222: "ijl", 260: "|", 278: " !,./:;I[\\]ft·", 333: "()-`r", 334: "{}", 355: "\"", 389: "*", 469: "^", 500: "Jcksvxyz",
	556: "#$0123456789?L_abdeghnopqu–", 584: "+<=>~−", 611: "FTZ", 667: "&ABEKPSVXY", 722: "CDHNRUw", 778: "GOQ", 833: "Mm",
	889: "%", 944: "W", 1000: "→…", 1015: "@",
}

var widthOf = func() map[rune]int {
	all := map[rune]int{}
	for width, letters := range widths {
		for _, r := range letters {
			all[r] = width
		}
	}
	return all
}()

// TextWidth returns the width of a text of a size, in the same unit. Letters outside of ASCII count as a digit,
// except some that reports use.
func TextWidth(size float64, text string) float64 {
	sum := 0
	for _, r := range strings.ToValidUTF8(text, "?") {
		if w, ok := widthOf[r]; ok {
			sum += w
		} else {
			sum += 556
		}
	}
	return size * float64(sum) / 1000
}
