package reports

import (
	"bytes"
	"cmp"
	"slices"
)

// pictures are porcupine's pages, split into their common beginning, their common end and the part
// between. The common parts are porcupine's program and nearly all of each page.
type pictures struct {
	Head    string         `json:"head"`
	Tail    string         `json:"tail"`
	Middles map[int]string `json:"middles"` // by the index of the story
}

// pictures returns porcupine's pages, the worst verdicts first, as many as fit in room bytes.
func (e *evidence) pictures(room int) (pictures, error) {
	var order []int
	for i, page := range e.pages {
		if len(page) > 0 {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return pictures{}, nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(e.ranks[a], e.ranks[b]) })
	head, tail := sharedEnds(e.pages, order)
	out := pictures{Head: string(head), Tail: string(tail), Middles: map[int]string{}}
	frame, err := compressed(out)
	if err != nil {
		return pictures{}, err
	}
	room -= len(frame)
	for _, i := range order {
		middle := string(e.pages[i][len(head) : len(e.pages[i])-len(tail)])
		size, err := compressed(middle)
		if err != nil {
			return pictures{}, err
		}
		if room -= len(size); room < 0 {
			break
		}
		out.Middles[i] = middle
	}
	return out, nil
}

// sharedEnds returns the longest text with which all the pages begin, and the longest text with
// which all of them end. which has the indices of these pages. If the two texts would overlap in a
// page, tail is shortened.
func sharedEnds(pages [][]byte, which []int) (head, tail []byte) {
	first := pages[which[0]]
	head, tail = first, first
	for _, i := range which[1:] {
		head, tail = head[:sharedPrefix(head, pages[i])], tail[len(tail)-sharedSuffix(tail, pages[i]):]
	}
	for _, i := range which {
		if over := len(head) + len(tail) - len(pages[i]); over > 0 {
			tail = tail[over:]
		}
	}
	return head, tail
}

func sharedPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func sharedSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	if bytes.HasSuffix(a, b[len(b)-n:]) {
		return n
	}
	for i := range n {
		if a[len(a)-1-i] != b[len(b)-1-i] {
			return i
		}
	}
	return n
}
