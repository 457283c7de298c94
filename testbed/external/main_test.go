package external

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// user returns the arguments that give a server one more user.
func user(rules string) []string { return append([]string{"--user"}, strings.Fields(rules)...) }
