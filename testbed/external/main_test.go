package external

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Ignore a leak of toxiproxy: when a toxic such as timeout is removed, the toxic before it in the
	// chain (NoopToxic) may just have read data, and then waits for ever to pass the data on. In
	// package live, a linkToxic stands before each toxic that is removed.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"))
}

// user returns the arguments that give a server one more user.
func user(rules string) []string { return append([]string{"--user"}, strings.Fields(rules)...) }
