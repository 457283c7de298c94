package external

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// After a timeout toxic is removed, toxiproxy's server no longer serves the toxic before
	// it in the chain. If that toxic had just read something, it waits for ever to pass it
	// on. toxiproxy's server runs in this program only in tests.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"))
}

// user are the arguments for a server with one more user.
func user(rules string) []string { return append([]string{"--user"}, strings.Fields(rules)...) }
