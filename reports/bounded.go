package reports

import "strings"

// boundedSection is a part of a page of limited size: a head, and items of which those
// that find no room are counted.
type boundedSection struct {
	Head  string
	Items []boundedItem
	// Rest says that n items were left out, and where they are.
	Rest func(n int) string
	// Most is the maximum number of the section's bytes; 0 = what is left of the page.
	Most int
	// Arrange puts the items that found room into another order; nil = as they are.
	Arrange func(texts []string) []string
}

// boundedItem is an item of a section: Whole, or Short where there is less room; Short = "" if
// it has only one form.
type boundedItem struct{ Whole, Short string }

// least returns the number of bytes that the section needs with no item at all.
func (s boundedSection) least() int {
	if len(s.Items) == 0 {
		return 0
	}
	return len(s.Head) + len(s.Rest(len(s.Items)))
}

// boundedPage returns the sections one after the other, without those that have no items. The
// page has at most limit bytes, unless the least sizes of all sections need more. Each
// section may use the room that is left, except for the least sizes of those after it.
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

// write writes the section in at most that many bytes, which must be at least s.least().
func (s boundedSection) write(b *strings.Builder, most int) {
	room := most - s.least()
	short := 0 // bytes of the short forms of the items to come
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
	if s.Arrange != nil {
		texts = s.Arrange(texts)
	}
	b.WriteString(strings.Join(texts, ""))
	if n := len(s.Items) - len(texts); n > 0 {
		b.WriteString(s.Rest(n))
	}
}

func (x boundedItem) brief() string {
	if x.Short != "" {
		return x.Short
	}
	return x.Whole
}
