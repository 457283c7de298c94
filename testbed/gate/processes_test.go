package gate

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// called is a locks.Process that records the gate's calls.
type called struct{ did []string }

func (c *called) note(what string) { c.did = append(c.did, what) }

func (c *called) Freeze()               { c.note("freeze") }
func (c *called) Thaw()                 { c.note("thaw") }
func (c *called) Kill()                 { c.note("kill") }
func (c *called) Skew(by time.Duration) { c.note(fmt.Sprint("skew ", by)) }
func (*called) End() string             { return "" }

var _ locks.Process = (*called)(nil)

func TestAProcessGoesThroughWhatItsClientGoesThrough(t *testing.T) {
	g := New(Options{Clients: 1, Clock: func() time.Duration { return 0 }})
	c := NewClient(context.Background(), g, 1, 0)
	defer c.End()
	before, during, after := new(called), new(called), new(called)
	c.Skew(time.Minute)
	c.Locks().Adopt(before)
	var undos []func(context.Context) (int, error)
	for range 2 {
		undo, err := g.PauseClient(0)
		if err != nil {
			t.Fatal(err)
		}
		undos = append(undos, undo)
	}
	c.Locks().Adopt(during)
	for _, undo := range undos {
		if _, err := undo(t.Context()); err != nil {
			t.Error(err)
		}
	}
	c.Skew(-time.Hour)
	if err := g.CrashClient(0); err != nil {
		t.Fatal(err)
	}
	c.Locks().Adopt(after)
	for p, want := range map[*called][]string{
		before: {"skew 1m0s", "freeze", "thaw", "skew -1h0m0s", "kill"},
		during: {"skew 1m0s", "freeze", "thaw", "skew -1h0m0s", "kill"},
		after:  {"skew -1h0m0s", "kill"},
	} {
		if !slices.Equal(p.did, want) {
			t.Errorf("did %q, want %q", p.did, want)
		}
	}
}
