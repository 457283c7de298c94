package cli

import (
	"testing"

	"github.com/lockstorm/lockstorm/documents"
)

func TestAnswersHaveNoMarkdownInATerminal(t *testing.T) {
	if got := plainText("*Two hang*: 2 * 3, *A* and *B*"); got != "Two hang: 2 * 3, A and B" {
		t.Errorf("got %q", got)
	}
	for _, e := range documents.Experiments() {
		if text := plainText(e.Asks + e.How); emphasis.MatchString(text) {
			t.Errorf("%s: %q", e.ID, text)
		}
	}
}
