package cli

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/lockstorm/lockstorm/campaign/bench"
)

// benchOf runs bench --json on few short trials in the simulation.
func benchOf(t *testing.T, more ...string) bench.Report {
	t.Helper()
	args := append([]string{"bench", "--locks", "redlock,setnx", "--clients", "3", "--ttl", "100ms", "--duration", "100ms"}, more...)
	r, code, stderr := jsonOf[bench.Report](t, args...)
	if code != 0 { // stderr is not checked: on a slow machine it has progress lines
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	return r
}

func TestBenchMeasuresLocksBesideTheBaseline(t *testing.T) {
	r := benchOf(t)
	var ids []string
	figures := map[string]map[string]bench.Figure{}
	for _, l := range r.Locks {
		ids = append(ids, l.Lock)
		figures[l.Lock] = l.Figures
		for _, m := range r.Measures {
			if _, ok := l.Figures[m.Name]; !ok {
				t.Errorf("%s has no figure %s", l.Lock, m.Name)
			}
		}
	}
	if want := []string{"set-nx-px", "redlock", "setnx"}; !reflect.DeepEqual(ids, want) {
		t.Fatalf("measured %v, want %v, the baseline first", ids, want)
	}
	known := []struct {
		lock, figure string
		value, ratio float64
	}{
		{"set-nx-px", "acquireCommands", 1, 1}, {"set-nx-px", "acquireRoundTrips", 1, 1}, {"set-nx-px", "releaseCommands", 1, 1}, {"set-nx-px", "releaseRoundTrips", 1, 1},
		{"redlock", "acquireCommands", 5, 5}, {"redlock", "acquireRoundTrips", 5, 5}, {"redlock", "releaseCommands", 5, 5}, {"redlock", "releaseRoundTrips", 5, 5},
		{"setnx", "acquireCommands", 1, 1}, {"setnx", "releaseCommands", 1, 1},
	}
	for _, k := range known {
		f := figures[k.lock][k.figure]
		if f.Value == nil || f.Ratio == nil || *f.Value != k.value || *f.Ratio != k.ratio {
			t.Errorf("%s of %s is %+v, want %v, and %v times the baseline's", k.figure, k.lock, f, k.value, k.ratio)
		}
	}
	if s := r.Speed; s.Trials != 3*2 || s.Commands == 0 || s.Virtual <= 0 || s.Elapsed < s.Running+s.Judging+s.Measuring {
		t.Errorf("speed is %+v", s)
	}
	again := benchOf(t)
	r.Speed, again.Speed = bench.Speed{}, bench.Speed{}
	if !reflect.DeepEqual(r, again) {
		t.Error("the same seed measured something else")
	}
}

// TestBenchFitsTheTerminal: at any width, no line is wider than the terminal and no figure is
// missing.
func TestBenchFitsTheTerminal(t *testing.T) {
	v, ratio := 12345678.0, 123.4
	r := bench.Report{Testbed: "sim", Virtual: true, Clients: 3, TTL: time.Second, Baseline: "set-nx-px", Measures: bench.Measures(),
		Speed: bench.Speed{Trials: 7, Commands: 70, Virtual: time.Second, Elapsed: time.Second, Running: time.Second}}
	for _, id := range []string{"set-nx-px", "lua-setnx-expire-fraction"} {
		l := bench.Lock{Lock: id, Acquires: 5, Waits: 500, Violated: []string{"exclusion"}, Undecided: []string{"linearizable"}, Stalled: 1, Figures: map[string]bench.Figure{}}
		for _, m := range r.Measures {
			l.Figures[m.Name] = bench.Figure{Value: &v, Ratio: &ratio}
		}
		r.Locks = append(r.Locks, l)
	}
	r.Locks[0].Figures["waitP99"] = bench.Figure{Note: "not measured"}
	for _, width := range []int{60, 80, 120, 300} {
		var b bytes.Buffer
		if err := printBench(&b, r, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if line = strings.TrimSuffix(line, "\n"); text.StringWidth(line) > width || strings.TrimRight(line, " ") != line {
				t.Errorf("width %d: the line is %d wide, or ends with spaces: %q", width, text.StringWidth(line), line)
			}
		}
		if got, want := strings.Count(b.String(), "(123×)"), len(r.Measures); got != want {
			t.Errorf("width %d: %d figures with a ratio, want %d:\n%s", width, got, want, b.String())
		}
		for _, want := range []string{"not measured", "few samples", "did not keep its promise", "set-nx-px: undecided while it was measured: linearizable", "trials/s", "share: running 100 %"} {
			if !strings.Contains(strings.ReplaceAll(b.String(), "\n", " "), want) {
				t.Errorf("width %d: no %q in\n%s", width, want, b.String())
			}
		}
	}
}

func TestFiguresOfBenchHaveThreeDigits(t *testing.T) {
	for _, test := range []struct {
		v    float64
		unit bench.Unit
		want string
	}{
		{1, bench.Plain, "1"}, {0, bench.PerSecond, "0"}, {0.984, bench.Plain, "0.98"}, {9.994, bench.Plain, "9.99"}, {9.996, bench.Plain, "10.0"},
		{99.96, bench.PerSecond, "100"}, {3531.4, bench.PerSecond, "3531"},
		{float64(249 * time.Microsecond), bench.Nanoseconds, "0.25 ms"}, {float64(12345 * time.Microsecond), bench.Nanoseconds, "12.3 ms"},
		{float64(999400 * time.Microsecond), bench.Nanoseconds, "999 ms"}, {float64(999600 * time.Microsecond), bench.Nanoseconds, "1.00 s"}, {float64(2500 * time.Millisecond), bench.Nanoseconds, "2.50 s"},
	} {
		if got := figureText(bench.Figure{Value: &test.v}, test.unit, true); got != test.want {
			t.Errorf("%v %s is written %q, want %q", test.v, test.unit, got, test.want)
		}
	}
}
