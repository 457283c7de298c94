package documents

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/sim"
)

func TestAnExperimentWithARecipeThatIsMissingFails(t *testing.T) {
	_, err := lab{sim.New(), 1}.scene(t.Context(), scenes[0], "no-such-lock")
	if err == nil || !strings.Contains(err.Error(), `"no-such-lock"`) {
		t.Errorf("got %v, want an error that names the recipe", err)
	}
}
