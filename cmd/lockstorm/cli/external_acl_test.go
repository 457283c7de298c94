package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/external"
)

// TestTheDocsTellWhatToGrant checks that docs/external.md has the command that the testbed prints.
func TestTheDocsTellWhatToGrant(t *testing.T) {
	text, err := os.ReadFile("../../../docs/external.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n"+external.Grant+"\n") {
		t.Errorf("want the line %s", external.Grant)
	}
}
