package page_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/reports/timeline"
	"github.com/lockstorm/lockstorm/reports/timeline/page"
)

// The script draws each look that a timeline's data can name.
func TestScriptDrawsEveryLook(t *testing.T) {
	samples := timeline.NewKey().Samples
	if len(samples) == 0 {
		t.Fatal("the key has no samples")
	}
	for _, s := range samples {
		if n := len(regexp.MustCompile(`(?m)^    `+s.Name+`: \(g, x, y`).FindAllString(page.Script, -1)); n != 1 {
			t.Errorf("the script draws %q in %d ways, want 1", s.Name, n)
		}
	}
}

// Each class that the script uses has a style.
func TestStyleHasEveryClassOfTheScript(t *testing.T) {
	classes := regexp.MustCompile(`"(tl-[a-z]+)["\s]`).FindAllStringSubmatch(page.Script, -1)
	if len(classes) == 0 {
		t.Fatal("the script names no classes")
	}
	for _, c := range classes {
		if !strings.Contains(page.Style, "."+c[1]+" ") && !strings.Contains(page.Style, "."+c[1]+",") {
			t.Errorf("no style for %s", c[1])
		}
	}
}
