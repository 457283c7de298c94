package cli

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/external"
)

// TestTheDocsTellWhatToGrant checks that docs/external.md has the command that the testbed prints.
func TestTheDocsTellWhatToGrant(t *testing.T) {
	if !strings.Contains(readPage(t, "docs/external.md"), "\n"+external.Grant+"\n") {
		t.Errorf("want the line %s", external.Grant)
	}
}
