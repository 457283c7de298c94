package linear

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// dataBegins and dataEnds delimit the data in porcupine's page, which stands in one line.
var dataBegins, dataEnds = []byte("const data = "), []byte("\n")

// step is an operation of a partial linearization.
type step struct {
	Index            int
	StateDescription string
}

// ordered returns porcupine's page with its partial linearizations in a fixed order, the
// longest first. Porcupine iterates over a map, so the page of one history would otherwise
// differ from run to run.
func ordered(page []byte) ([]byte, error) {
	before, rest, found := bytes.Cut(page, dataBegins)
	text, after, ended := bytes.Cut(rest, dataEnds)
	if !found || !ended {
		return nil, errors.New("porcupine's page has no line of data")
	}
	var data struct {
		Partitions []struct {
			History               json.RawMessage
			PartialLinearizations [][]step
			Largest               map[int]int // by operation: the place of its longest linearization
		}
		Annotations json.RawMessage
	}
	if err := json.Unmarshal(text, &data); err != nil {
		return nil, fmt.Errorf("read porcupine's page: %w", err)
	}
	for i := range data.Partitions {
		p := &data.Partitions[i]
		slices.SortFunc(p.PartialLinearizations, func(a, b []step) int {
			return cmp.Or(len(b)-len(a), slices.CompareFunc(a, b, func(a, b step) int { return a.Index - b.Index }))
		})
		p.Largest = map[int]int{}
		for n, steps := range p.PartialLinearizations {
			for _, s := range steps {
				if _, longer := p.Largest[s.Index]; !longer {
					p.Largest[s.Index] = n
				}
			}
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("write porcupine's page: %w", err)
	}
	return slices.Concat(before, dataBegins, text, dataEnds, after), nil
}
