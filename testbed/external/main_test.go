package external

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// After a timeout toxic is removed, toxiproxy's server no longer serves the toxic before it in
	// the chain. If this earlier toxic has just read data, it waits for ever to pass the data on.
	// Only tests run toxiproxy's server in this program.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"))
}

// user returns the arguments that give a server one more user.
func user(rules string) []string { return append([]string{"--user"}, strings.Fields(rules)...) }
