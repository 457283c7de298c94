package linear

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestChunksAreCutWhereNothingIsOpenAndCarryWhatIs(t *testing.T) {
	var quiet, busy []Span
	for i := range time.Duration(1000) {
		quiet = append(quiet, Span{Owner: 1, Invoke: 10 * i, OK: 10*i + 1, End: 10*i + 9})
		busy = append(busy, Span{Owner: int(i), Invoke: i, OK: i, End: 5000})
	}
	for _, c := range []struct {
		name     string
		spans    []Span
		sizes    []int
		wantedOK time.Duration // OK of the second chunk's first span
	}{
		{"quiet", quiet[:200], []int{64, 64, 64, 8}, 641},
		{"never quiet", busy, []int{512, 1000}, 512},
	} {
		var sizes []int
		cut := slices.Collect(chunks(c.spans))
		for _, part := range cut {
			sizes = append(sizes, len(part))
		}
		if fmt.Sprint(sizes) != fmt.Sprint(c.sizes) || cut[1][0].OK != c.wantedOK {
			t.Errorf("%s: got %v, second from %d; want %v from %d", c.name, sizes, cut[1][0].OK, c.sizes, c.wantedOK)
		}
	}
}
