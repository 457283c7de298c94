package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/lockstorm/lockstorm/campaign/bench"
	"github.com/lockstorm/lockstorm/reports"
)

// plainWidth is the width of bench's tables if there is no terminal.
const plainWidth = 100

// printBench prints tables for each group of measures, then notes about the figures, then the
// speed of the harness. Width is the terminal's; 0 = there is no terminal.
func printBench(w io.Writer, r bench.Report, width int) error {
	if width == 0 {
		width = plainWidth
	}
	var b strings.Builder
	intro := fmt.Sprintf("Testbed %s, seed %d, lease %v, %s. In brackets: the ratio to %s.", r.Testbed, r.Seed, r.TTL, count(r.Clients, "client"), r.Baseline)
	if r.Virtual {
		intro += " Times are virtual."
	}
	fmt.Fprintln(&b, wrapTrimmed(intro, width))
	for _, group := range groups(r.Measures) {
		columns, rows := benchRows(r, group)
		fmt.Fprintf(&b, "\n%s\n", wrapTrimmed(sentence(group, r), width))
		for len(columns) > 1 {
			n := fitting(columns, rows, width)
			var some [][]string
			var widths []int
			for _, row := range rows {
				some = append(some, row[:n])
			}
			for i := range n {
				widths = append(widths, min(columnWidth(rows, i), width))
			}
			fmt.Fprintln(&b, plainTable(columns[:n], tableRows(some), widths))
			columns = slices.Delete(columns, 1, n)
			for i := range rows {
				rows[i] = slices.Delete(rows[i], 1, n)
			}
		}
	}
	fmt.Fprintln(&b)
	for _, line := range append(benchNotes(r), speedLines(r)...) {
		fmt.Fprintln(&b, wrapTrimmed(line, width))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrapTrimmed wraps a line and removes the spaces at the ends of the resulting lines.
func wrapTrimmed(s string, width int) string {
	lines := strings.Split(text.WrapSoft(s, width), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// columnWidth returns the width of a column in bench's tables: that of its widest cell, so that only
// a title wraps.
func columnWidth(rows [][]string, column int) int {
	n := narrowestColumn
	for _, row := range rows {
		if column < len(row) {
			n = max(n, text.StringWidth(row[column]))
		}
	}
	return n
}

// fitting returns how many columns, from the first one on, fit side by side; never fewer than two,
// the locks and one measure.
func fitting(columns []string, rows [][]string, width int) int {
	n, used := 1, columnWidth(rows, 0)+2
	for n < len(columns) {
		if used += columnWidth(rows, n) + 2; used > width && n > 1 {
			break
		}
		n++
	}
	return n
}

// groups returns the groups of the measures, in their order.
func groups(all []bench.Measure) (names []string) {
	for _, m := range all {
		if !slices.Contains(names, m.Group) {
			names = append(names, m.Group)
		}
	}
	return names
}

// sentence returns the line above a group's table.
func sentence(group string, r bench.Report) string {
	line := strings.ToUpper(group[:1]) + group[1:]
	if group == bench.ContendedGroup {
		line += fmt.Sprintf(": %s, holds of %v", count(r.Clients, "client"), bench.Hold(r.TTL))
	}
	return line + ":"
}

func benchRows(r bench.Report, group string) (columns []string, rows [][]string) {
	columns = []string{"lock"}
	of := slices.DeleteFunc(slices.Clone(r.Measures), func(m bench.Measure) bool { return m.Group != group })
	for _, m := range of {
		columns = append(columns, m.Title)
	}
	for _, l := range r.Locks {
		row := []string{l.Lock}
		for _, m := range of {
			row = append(row, figureText(l.Figures[m.Name], m.Unit, l.Lock == r.Baseline))
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// figureText returns a figure with its ratio to the baseline; the baseline itself gets no ratio.
func figureText(f bench.Figure, unit bench.Unit, isBaseline bool) string {
	if f.Value == nil {
		return f.Note
	}
	words := threeDigits(*f.Value)
	if unit == bench.Nanoseconds {
		words = durationText(time.Duration(*f.Value))
	}
	if f.Ratio != nil && !isBaseline {
		words += " (" + fixed(*f.Ratio) + "×)"
	}
	if f.Note != "" {
		words += ", " + f.Note
	}
	return words
}

// durationText writes a duration in milliseconds or seconds, as fixed does.
func durationText(d time.Duration) string {
	if d < time.Second-time.Millisecond/2 {
		return fixed(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return fixed(d.Seconds()) + " s"
}

// threeDigits writes a whole number in full, and any other number as fixed does.
func threeDigits(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return fixed(v)
}

// fixed writes a positive number with three digits, at most two of them behind the point. Numbers
// from 1000 on have all digits before the point.
func fixed(v float64) string {
	places := 0
	switch {
	case v < 9.995:
		places = 2
	case v < 99.95:
		places = 1
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// fewSamples: with fewer samples, the 99th percentile is just the maximum.
const fewSamples = 100

// benchNotes names the locks whose figures are less reliable, and why.
func benchNotes(r bench.Report) (lines []string) {
	if r.Drift != nil {
		lines = append(lines, fmt.Sprintf("noise: %s alone, measured again after the others, took %s times as long (p50)", r.Baseline, fixed(*r.Drift)))
	}
	for _, l := range r.Locks {
		if len(l.Violated) > 0 {
			lines = append(lines, fmt.Sprintf("%s did not keep its promise while it was measured, without any fault (%s): lockstorm run --locks %s", l.Lock, strings.Join(l.Violated, ", "), l.Lock))
		}
		if len(l.Undecided) > 0 {
			lines = append(lines, fmt.Sprintf("%s: undecided while it was measured: %s", l.Lock, strings.Join(l.Undecided, ", ")))
		}
		if min(l.Acquires, l.Waits) < fewSamples {
			lines = append(lines, fmt.Sprintf("%s: few samples: its latencies rest on %s alone and %s among others", l.Lock, count(l.Acquires, "acquire"), count(l.Waits, "grant")))
		}
		if l.Stalled > 0 {
			lines = append(lines, fmt.Sprintf("%s: in %s the machine did not let this program run in time: its times are too long", l.Lock, count(l.Stalled, "trial")))
		}
	}
	return lines
}

func speedLines(r bench.Report) []string {
	s, took := r.Speed, r.Speed.Elapsed.Seconds()
	if took <= 0 || s.Trials == 0 {
		return nil
	}
	percent := func(d time.Duration) float64 { return 100 * d.Seconds() / took }
	line := fmt.Sprintf("speed: %s in %s, one at a time: %.3g trials/s, %.0f commands/s", count(s.Trials, "trial"), reports.Roughly(s.Elapsed), float64(s.Trials)/took, float64(s.Commands)/took)
	if r.Virtual {
		line += fmt.Sprintf(", %.3g virtual s/s", s.Virtual.Seconds()/took)
	}
	return []string{line, fmt.Sprintf("share: running %.0f %%, judging %.0f %%, measuring %.0f %%", percent(s.Running), percent(s.Judging), percent(s.Measuring))}
}
