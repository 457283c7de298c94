package checker

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// What used to make a search explode must be decided, and not given up. The
// limit is porcupine's own and generous: no answer in it means exponential.
func TestPorcupineNeverRunsAway(t *testing.T) {
	const overlap = "c90 acquire 999990-999991 ok\nc91 acquire 999990-999992 ok\n"
	type line = func(i int) string
	repeat := func(n int, f line) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	readers := func(mode string) line {
		return func(i int) string {
			return fmt.Sprintf("c%d acquire 1-%d ok mode=%s\nc%d release %d-%d ok mode=%s\n", i, 10+i%7, mode, i, 500+i%5, 900+i, mode)
		}
	}
	for _, c := range []struct {
		name   string
		claims history.Claims
		text   string
		want   Result
	}{
		{"64 acquires of unknown outcome, and hundreds of holds", history.Claims{},
			repeat(64, func(i int) string { return fmt.Sprintf("c%d acquire %d-%d info\n", i, i, 5000+i) }) +
				repeat(400, func(i int) string {
					return fmt.Sprintf("c%d acquire %d-%d ok\nc%d release %d-%d info\n", 100+i, 10*i, 10*i+3, 100+i, 10*i+9, 10*i+9000)
				}) + overlap, Violated},
		{"releases of which none was answered", history.Claims{},
			repeat(500, func(i int) string {
				return fmt.Sprintf("c%d acquire %d-%d ok\nc%d release %d-\n", i+100, 10*i, 10*i+3, i+100, 10*i+9)
			}) + overlap, Violated},
		{"three hundred who wait from the start", history.Claims{},
			repeat(300, func(i int) string {
				return fmt.Sprintf("c%d acquire 1-%d ok\nc%d release %d-%d ok\n", i+100, 10*i+13, i+100, 10*i+19, 10*i+20)
			}) + overlap, Violated},
		{"two hundred readers together", history.Claims{ReadWrite: true}, repeat(200, readers("read")), Held},
		{"two hundred readers and two writers together", history.Claims{ReadWrite: true},
			repeat(200, readers("read")) + overlap, Violated},
		{"a hundred writers together", history.Claims{ReadWrite: true}, repeat(100, readers("write")), Violated},
		{"readers of whom some is always there, and a writer at the end", history.Claims{ReadWrite: true},
			repeat(3000, func(i int) string {
				return fmt.Sprintf("c%d acquire %d-%d ok mode=read\nc%d release %d-%d ok mode=read\n", i%3, 10*i, 10*i+1, i%3, 10*i+25, 10*i+26)
			}) + "c91 acquire 30000-30001 ok mode=write\n", Violated},
		{"three hundred deep", history.Claims{Reentrant: true},
			repeat(300, func(i int) string {
				return fmt.Sprintf("c0 acquire %d-%d ok\nc0 release %d-%d ok\n", i, i, 5000+i, 5000+i)
			}) +
				"c1 acquire 5200-5201 ok\n", Violated},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			v, err := exclusion(context.Background(), newCaseFile(history.Evidence{Ops: timeline(t, c.text), Claims: c.claims}))
			if err != nil || v.Result != c.want {
				t.Errorf("got %s (%s), %v; want %s", v.Result, v.words(), err, c.want)
			}
			t.Log(time.Since(began))
		})
	}
}

func TestNoTimeMeansUnknown(t *testing.T) {
	e := history.Evidence{Ops: timeline(t, "c0 acquire 1-2 ok\nc1 acquire 3-4 ok")}
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	v, err := exclusion(ctx, newCaseFile(e))
	if err != nil || v.Result != Unknown || !strings.Contains(v.words(), "in time") {
		t.Errorf("got %+v, %v; want unknown", v, err)
	}
}

func TestChunksAreCutWhereNothingIsOpenAndCarryWhatIs(t *testing.T) {
	var quiet, busy []span
	for i := range time.Duration(1000) {
		quiet = append(quiet, span{owner: 1, invoke: 10 * i, ok: 10*i + 1, end: 10*i + 9})
		busy = append(busy, span{owner: int(i), invoke: i, ok: i, end: 5000})
	}
	for _, c := range []struct {
		name     string
		spans    []span
		sizes    []int
		wantedOK time.Duration // of the second chunk's first span
	}{
		{"quiet", quiet[:200], []int{64, 64, 64, 8}, 641},
		{"never quiet", busy, []int{512, 1000}, 512},
	} {
		var sizes []int
		cut := chunks(c.spans)
		for _, part := range cut {
			sizes = append(sizes, len(part))
		}
		if fmt.Sprint(sizes) != fmt.Sprint(c.sizes) || cut[1][0].ok != c.wantedOK {
			t.Errorf("%s: got %v, second from %d; want %v from %d", c.name, sizes, cut[1][0].ok, c.sizes, c.wantedOK)
		}
	}
}

func TestModelsArePureAndDescribeThemselves(t *testing.T) {
	write := action{owner: 2, mode: history.Write}
	for _, c := range []struct {
		model porcupine.Model
		acts  []action
		state string
		legal bool // of the last
	}{
		{mutexModel, []action{{owner: 1}}, "held", true},
		{mutexModel, []action{{owner: 1}, {owner: 2, release: true}}, "free", true},
		{mutexModel, []action{{owner: 1}, {owner: 2}}, "held", false},
		{mutexModel, []action{{owner: 1, release: true}}, "free", false},
		{ownedModel, []action{{owner: 1}}, "held by c1", true},
		{ownedModel, []action{{owner: 1}, {owner: 2, release: true}}, "held by c1", false},
		{ownedModel, []action{{owner: 1}, {owner: 1}}, "held by c1", false},
		{ownedModel, []action{{owner: 0}, {owner: 0, release: true}}, "free", true},
		{reentrantModel, []action{{owner: 1}, {owner: 1}}, "held by c1, 2 deep", true},
		{reentrantModel, []action{{owner: 1}, {owner: 1}, {owner: 1, release: true}, {owner: 1, release: true}}, "free", true},
		{reentrantModel, []action{{owner: 1}, {owner: 2}}, "held by c1, 1 deep", false},
		{reentrantModel, []action{{owner: 1}, {owner: 2, release: true}}, "held by c1, 1 deep", false},
		{fencedModel, []action{{owner: 1, fence: 3}}, "held by c1, fence 3", true},
		{fencedModel, []action{{owner: 1, fence: 3}, {owner: 1, release: true}, {owner: 2, fence: 3}}, "free, fence 3", false},
		{fencedModel, []action{{owner: 1, fence: 3}, {owner: 1, release: true}, {owner: 2, fence: 4}}, "held by c2, fence 4", true},
		{fencedModel, []action{{owner: 1, fence: 3}, {owner: 2, fence: 4}}, "held by c1, fence 3", false},
		{fencedModel, []action{{owner: 1, fence: 3, passing: true}, {owner: 2, fence: 4, passing: true}}, "free, fence 4", true},
		{fencedModel, []action{{owner: 1}}, "free, fence 0", false},
		{fencedModel, []action{{owner: 1, fence: 3}, {owner: 2, release: true}}, "held by c1, fence 3", false},
		{reentrantFencedModel, []action{{owner: 1, fence: 3}, {owner: 1, fence: 3}}, "held by c1, 2 deep, fence 3 of c1", true},
		{reentrantFencedModel, []action{{owner: 1, fence: 3}, {owner: 1, fence: 2}}, "held by c1, 1 deep, fence 3 of c1", false},
		{reentrantFencedModel, []action{{owner: 1, fence: 3, passing: true}, {owner: 2, fence: 3, passing: true}}, "free, fence 3 of c1", false},
		{reentrantFencedModel, []action{{owner: 1, fence: 3, passing: true}, {owner: 2, fence: 4, passing: true}, {owner: 1, fence: 3, passing: true}}, "free, fence 4 of c2", false},
		{reentrantFencedModel, []action{{owner: 1, fence: 0}}, "free", false},
		{semaphoreModel(2), []action{{owner: 1}, {owner: 2}}, "held by c1, c2, 0 of 2 permits left", true},
		{semaphoreModel(2), []action{{owner: 1}, {owner: 2}, {owner: 3}}, "held by c1, c2, 0 of 2 permits left", false},
		{semaphoreModel(2), []action{{owner: 1}, {owner: 1}, {owner: 3}}, "held by c1, c3, 0 of 2 permits left", true},
		{semaphoreModel(2), []action{{owner: 1}, {owner: 2, release: true}}, "held by c1, 1 of 2 permits left", false},
		{semaphoreModel(2), []action{{owner: 1}, {owner: 1, release: true}}, "free, 2 of 2 permits left", true},
		{readWriteModel, []action{{owner: 1, mode: history.Read}, {owner: 0, mode: history.Read}}, "read by c0, read by c1", true},
		{readWriteModel, []action{{owner: 1, mode: history.Read}, write}, "read by c1", false},
		{readWriteModel, []action{write, {owner: 1, mode: history.Read}}, "written by c2", false},
		{readWriteModel, []action{write, {owner: 2, mode: history.Read}}, "written by c2, read by c2", true},
		{readWriteModel, []action{write, {owner: 2, mode: history.Write, release: true}}, "free", true},
		{readWriteModel, []action{write, {owner: 1, mode: history.Read, release: true}}, "written by c2", false},
	} {
		s, legal := c.model.Init(), true
		for _, a := range c.acts {
			before, hash := c.model.DescribeState(s), c.model.Hash(s)
			ok, next := c.model.Step(s, a, nil)
			if c.model.DescribeState(s) != before || c.model.Hash(s) != hash {
				t.Errorf("%v: %s changed its state", c.acts, a)
			}
			s, legal = next, ok
		}
		if got := c.model.DescribeState(s); got != c.state || legal != c.legal {
			t.Errorf("%v: got %q, legal %v; want %q, %v", c.acts, got, legal, c.state, c.legal)
		}
	}
	if got := readWriteModel.DescribeOperation(write, nil); got != "c2 acquires (write)" {
		t.Errorf("got %q", got)
	}
	if got := fencedModel.DescribeOperation(action{owner: 2, fence: 7}, nil); got != "c2 acquires, fence 7" {
		t.Errorf("got %q", got)
	}
}

func TestModelsAreFoundByName(t *testing.T) {
	for _, m := range Models() {
		claims, ok := ModelByName(m.Name)
		if !ok || !reflect.DeepEqual(claims, m.Claims) || m.Doc == "" {
			t.Errorf("%s: got %+v, %v", m.Name, claims, ok)
		}
		if b := blueprintFor(m.Claims); b.Name != m.Name && m.Name != "mutex" {
			t.Errorf("%s is judged as %s", m.Name, b.Name)
		}
	}
	for name, permits := range map[string]int{
		"semaphore": 1, "semaphore:3": 3, "semaphore:0": 0, "semaphore:-1": 0, "semaphore:": 0, "semaphore:x": 0, "mutex:2": 0, "": 0, "fence": 0,
	} {
		if claims, ok := ModelByName(name); claims.Permits != permits || ok != (permits > 0) {
			t.Errorf("%q: got %+v, %v", name, claims, ok)
		}
	}
}
