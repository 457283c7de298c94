package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
)

// TestTheGrantsOfTheDocsAreEnough runs recipes of each kind as the user that docs/external.md
// creates. The server must not refuse any command.
func TestTheGrantsOfTheDocsAreEnough(t *testing.T) {
	text, err := os.ReadFile("../../../docs/external.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nACL SETUSER ")
	line, _, _ := strings.Cut(rest, "\n")
	args := []any{"ACL", "SETUSER"}
	for _, word := range strings.Fields(line) {
		args = append(args, word)
	}
	s := redistest.Test(t)
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer c.Close()
	if err := c.Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	t.Setenv(passwordVariable, "PASSWORD")
	code, out, errs := lockstorm(t, "run", "--testbed", "external", "--addr", s.Addr(), "--user", "lockstorm",
		"--locks", "getset,fenced,redisson,reentrant-hash,rw-hash-owners,set-nx-px", "--workloads", "mutex,read-write", "--faults", "none", "--trials", "1", "--duration", "200ms", "--parallel", "8", "--store", t.TempDir())
	if code != 0 && code != 2 { // on a busy machine, some trials may be undecided
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	denied, err := c.Do(t.Context(), "ACL", "LOG").Slice()
	if err != nil || len(denied) != 0 {
		t.Errorf("the server refused %v, %v", denied, err)
	}
	if n := c.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}
