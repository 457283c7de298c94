package campaign

import (
	"slices"
	"strings"
)

// testsSomething is an InputError with the reasons if no cell can be tested.
func testsSomething(cells []plannedCell) error {
	var whys []string
	for _, c := range cells {
		if c.why == "" {
			return nil
		}
		if !slices.Contains(whys, c.why) {
			whys = append(whys, c.why)
		}
	}
	return testsNothing(whys)
}

// testsSomething is such an error too, for what is seen only in running worlds.
func (m Matrix) testsSomething() error {
	var whys []string
	for _, c := range m.Cells {
		if c.Verdict != NotSupported {
			return nil
		}
		if !slices.Contains(whys, c.Why) {
			whys = append(whys, c.Why)
		}
	}
	return testsNothing(whys)
}

func testsNothing(whys []string) error {
	return Inputf("nothing can be tested: no chosen recipe supports a chosen fault and workload: %s", strings.Join(whys, "; "))
}
