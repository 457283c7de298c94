package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
)

func TestAHistoryThatDiffersIsTheHarnesssFaultForOurRecipesAlone(t *testing.T) {
	first := &history.Difference{Log: "commands", Entry: 3, Field: "args[2]", First: "a", Second: "b"}
	for name, c := range map[string]struct {
		x     comparison
		words string
		code  int // exit code; -1 = an error instead
	}{
		"the same":          {comparison{expected: "ab", got: "abcd", comparable: true}, "same history as expected", 0},
		"another's differs": {comparison{expected: "ab", got: "cd", comparable: true, foreign: true, first: first}, "it differs first in commands, entry 3, args[2]", campaign.ExitUnknown},
		"ours differs":      {comparison{expected: "ab", got: "cd", comparable: true}, "DIFFERENT history: expected was ab", -1},
		"other tokens":      {comparison{expected: "ab", got: "cd", comparable: true, renamed: true}, "but for the names of random tokens", 0},
	} {
		if got := c.x.words(); !strings.Contains(got, c.words) {
			t.Errorf("%s: got %q, want %q in it", name, got, c.words)
		}
		err := c.x.verdict(new(bytes.Buffer), nil)
		var code exit
		switch {
		case c.code == 0 && err != nil, c.code == -1 && (err == nil || errors.As(err, &code)), c.code > 0 && (!errors.As(err, &code) || int(code) != c.code):
			t.Errorf("%s: got %v, want %d", name, err, c.code)
		}
	}
}
