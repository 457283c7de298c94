package locks

import (
	"slices"
	"testing"
)

func TestScriptIsSentByItsDigestAndBySourceOnlyIfTheNodeForgotIt(t *testing.T) {
	c := newClient(t, 0)
	run := func() []string {
		return wire(seen(t, func() {
			if err := compareAndDelete.Run(t.Context(), c.Nodes[0], []string{"k"}, "t").Err(); err != nil {
				t.Error(err)
			}
		}))
	}
	if err := c.Nodes[0].ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	forgotten := []string{"EVALSHA compare-and-delete 1 k t", "EVAL compare-and-delete 1 k t", "lua GET k"}
	if got := run(); !slices.Equal(got, forgotten) {
		t.Errorf("after SCRIPT FLUSH the node saw %q, want %q", got, forgotten)
	}
	known := []string{"EVALSHA compare-and-delete 1 k t", "lua GET k"}
	if got := run(); !slices.Equal(got, known) {
		t.Errorf("then the node saw %q, want %q", got, known)
	}
}
