package checker

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

// windowWords is the function that puts a fault's window into words for Visualize. It says whether
// the window was closed.
func windowWords(_ history.Window, closed *history.Window) string {
	if closed == nil {
		return "it was never healed"
	}
	return "it was healed"
}

func TestVisualizeShowsHoldsAndFaults(t *testing.T) {
	e := history.Evidence{Ops: histories.Timeline(t, `
		c0 acquire 1-2 ok lock=<b>
		nemesis window client-pause 5-30
		c1 acquire 10-11 ok lock=<b>
		nemesis clock c1 12 offset=7
		nemesis healed 12
		c0 release 31-32 ok lock=<b>
		nemesis crash c1 40
		nemesis window delay 41-`)}
	var page bytes.Buffer
	if err := Visualize(context.Background(), &page, e, windowWords); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"c0 acquires", "c0 releases", "c1 acquires", "held by c0", "client-pause", "it was healed", "it was never healed",
		"clock c1 by 7ms, healed", "crash c1", "believes it holds", "from 0.011s to 0.040s (crash or loss)"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.String(), "<b>") {
		t.Error("a lock's name became markup")
	}
}

func TestVisualizeDrawsAnyHistory(t *testing.T) {
	var long strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&long, "c%d acquire %d-%d ok\nc%d release %d-%d ok\n", i%3, 10*i, 10*i+1, i%3, 10*i+5, 10*i+6)
	}
	long.WriteString("c3 acquire 9002-9003 ok\n")
	drawn := map[string]history.Evidence{
		"an empty one": {},
		"a long one":   {Ops: histories.Timeline(t, long.String())},
	}
	for seed := range uint64(60) {
		drawn[fmt.Sprint("random ", seed)] = histories.Random(seed)
	}
	for name, e := range drawn {
		var page bytes.Buffer
		if err := Visualize(context.Background(), &page, e, windowWords); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if page.Len() > 2_000_000 || !strings.Contains(page.String(), "</html>") {
			t.Errorf("%s: %d bytes", name, page.Len())
		}
		if name == "a long one" && !strings.Contains(page.String(), "c3 acquires") {
			t.Errorf("%s: does not show where it went wrong", name)
		}
		for range 3 {
			var again bytes.Buffer
			if err := Visualize(context.Background(), &again, e, windowWords); err != nil || !bytes.Equal(again.Bytes(), page.Bytes()) {
				t.Errorf("%s: drawn again it is another page, %v", name, err)
			}
		}
	}
}

func TestVisualizeSpeaksOfFencesDepthAndPermits(t *testing.T) {
	for _, c := range []struct {
		claims history.Claims
		text   string
		want   []string
	}{
		{history.Claims{Fenced: true}, `
			c0 acquire 1-2 ok fence=7
			c0 release 3-4 ok
			c1 acquire 5-6 ok fence=8`, []string{"c0 acquires, fence 7", "held by c1, fence 8"}},
		{history.Claims{Fenced: true}, `
			c0 acquire 1-2 ok fence=7
			c0 release 3-4 ok
			c1 acquire 5-6 ok fence=6`, []string{"free, fence 7"}},
		{history.Claims{Fenced: true}, `
			c1 acquire 1-9 ok fence=6
			c0 acquire 1-2 ok fence=7
			c0 release 3-4 ok`, []string{"c1 acquires, fence 6", `held by c1"`}},
		{history.Claims{Reentrant: true, Fenced: true}, `
			c0 acquire 1-2 ok fence=7
			c0 acquire 3-4 ok fence=7`, []string{"held by c0, 2 deep, fence 7 of c0"}},
		{history.Claims{Permits: 2}, `
			c0 acquire 1-2 ok
			c1 acquire 3-4 ok`, []string{"held by c0, c1, 0 of 2 permits left"}},
	} {
		var page bytes.Buffer
		if err := Visualize(context.Background(), &page, history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims}, windowWords); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(page.String(), want) {
				t.Errorf("%+v: the page lacks %q", c.claims, want)
			}
		}
	}
}
