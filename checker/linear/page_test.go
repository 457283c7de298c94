package linear_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// page draws the history of a Timeline.
func page(t *testing.T, claims history.Claims, timeline string) string {
	t.Helper()
	e := history.Evidence{Ops: histories.Timeline(t, timeline), Claims: claims}
	byLock, _ := spansOf(t, e)
	var b bytes.Buffer
	p := linear.Page{
		Claims: claims, Spans: byLock, Ops: e.Ops, Instant: time.Duration.String,
		Windows: func(history.Window, *history.Window) string { return "a window" },
	}
	if claims.Fenced {
		p.Claims = linear.Drawable(t.Context(), claims, byLock)
	}
	if err := p.Draw(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPagesDescribeEveryKindOfLock(t *testing.T) {
	crowd := ""
	for c := range 10 {
		crowd += fmt.Sprintf("c%d acquire 1-%d ok\n", c, 10+c)
	}
	for name, c := range map[string]struct {
		claims   history.Claims
		timeline string
		want     []string
	}{
		"a mutex":          {history.Claims{}, "c0 acquire 1-2 ok\nnemesis window delay 3-4\nc0 release 5-6 ok", []string{"held by c0", "free", "its release", "a window"}},
		"a reentrant lock": {history.Claims{Reentrant: true}, "c0 acquire 1-2 ok\nc0 acquire 3-4 ok", []string{"held by c0, 2 deep"}},
		"a fenced lock":    {history.Claims{Fenced: true}, "c0 acquire 1-2 ok fence=7", []string{"c0 acquires, fence 7", "held by c0, fence 7"}},
		"fences too late":  {history.Claims{Fenced: true}, "c1 acquire 1-9 ok fence=6\nc0 acquire 1-2 ok fence=7\nc0 release 3-4 ok", []string{`held by c1"`}},
		"both":             {history.Claims{Reentrant: true, Fenced: true}, "c0 acquire 1-2 ok fence=7", []string{"1 deep, fence 7 of c0"}},
		"readers":          {history.Claims{ReadWrite: true}, "c0 acquire 1-2 ok mode=read\nc1 acquire 1-3 ok mode=read", []string{"read by c0, read by c1"}},
		"a writer":         {history.Claims{ReadWrite: true}, "c0 acquire 1-2 ok mode=write", []string{"written by c0", "c0 acquires (write)"}},
		"permits":          {history.Claims{Permits: 3}, "c0 acquire 1-2 ok\nc1 acquire 3-4 ok", []string{"held by c0, c1, 1 of 3 permits left"}},
		"a crowd":          {history.Claims{}, crowd, []string{"c9 acquires"}},
	} {
		got := page(t, c.claims, c.timeline)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
		}
		if got != page(t, c.claims, c.timeline) {
			t.Errorf("%s: drawn again it is another page", name)
		}
	}
}
