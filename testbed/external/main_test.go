package external

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Toxiproxy may leave a goroutine behind when a timeout toxic is removed: the toxic before it in
	// the chain (NoopToxic) may just have read data, and then waits for ever to pass the data on.
	// Only tests run toxiproxy's server in this program.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"))
}

// user returns the arguments that give a server one more user.
func user(rules string) []string { return append([]string{"--user"}, strings.Fields(rules)...) }
