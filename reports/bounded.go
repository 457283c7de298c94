package reports

import "strings"

// boundedSection is a part of a page of limited size: a head and items. Items that do not fit are
// counted.
type boundedSection struct {
	Head  string
	Items []boundedItem
	// Rest returns the text that says that n items were left out, and where to find them.
	Rest func(n int) string
	// Most is the maximum size of the section in bytes; 0 = the rest of the page.
	Most int
	// Arrange reorders or joins the items that fit; nil = their order stays.
	Arrange func(texts []string) []string
}

// boundedItem is an item of a section. Short is its text if there is no room for Whole; "" = the
// item has only one form.
type boundedItem struct{ Whole, Short string }

// least returns the size of the section in bytes if none of its items fits; 0 if it has no items.
func (s boundedSection) least() int {
	if len(s.Items) == 0 {
		return 0
	}
	return len(s.Head) + len(s.Rest(len(s.Items)))
}

// boundedPage joins the sections and omits those without items. The page has at most limit bytes, unless
// the sections need more even without their items. Each section may use the room that is left, up to its
// Most. But it leaves the room that the later sections need without their items.
func boundedPage(limit int, sections []boundedSection) string {
	var b strings.Builder
	after := 0
	for _, s := range sections {
		after += s.least()
	}
	for _, s := range sections {
		after -= s.least()
		if len(s.Items) == 0 {
			continue
		}
		most := limit - b.Len() - after
		if s.Most > 0 {
			most = min(most, max(s.Most, s.least()))
		}
		s.write(&b, most)
	}
	return b.String()
}

// write writes the section. most is its maximum size in bytes. If most is less than s.least(), the
// section has no items and is larger than most.
func (s boundedSection) write(b *strings.Builder, most int) {
	room := most - s.least()
	short := 0 // bytes of the short forms of the remaining items
	for _, x := range s.Items {
		short += len(x.brief())
	}
	var texts []string
	for _, x := range s.Items {
		short -= len(x.brief())
		text := x.Whole
		if len(text)+short > room {
			text = x.brief()
		}
		if len(text) > room {
			break
		}
		room -= len(text)
		texts = append(texts, text)
	}
	b.WriteString(s.Head)
	left := len(s.Items) - len(texts)
	if s.Arrange != nil {
		texts = s.Arrange(texts)
	}
	b.WriteString(strings.Join(texts, ""))
	if left > 0 {
		b.WriteString(s.Rest(left))
	}
}

func (x boundedItem) brief() string {
	if x.Short != "" {
		return x.Short
	}
	return x.Whole
}
