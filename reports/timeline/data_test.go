package timeline

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/story"
)

// The data contains every bar and mark of the scene with its time, in the form that the page's
// script reads.
func TestDataHasTheWholeScene(t *testing.T) {
	for _, trial := range drawn(t) {
		t.Run(trial.Name, func(t *testing.T) {
			f := focusOn(t, trial)
			text, err := Data(f)
			if err != nil {
				t.Fatal(err)
			}
			var d struct {
				Rows  rowsData
				Lanes []struct{ Bars, Marks [][]any }
			}
			if err := json.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
			type interval struct{ from, to int64 }
			var rows []interval
			at := int64(0)
			for i, from := range d.Rows.From {
				at += from
				rows = append(rows, interval{at, at + max(0, d.Rows.Length[i])})
			}
			number := func(x any) int64 { return int64(x.(float64)) }
			s := newScene(f)
			for i, l := range s.Lanes {
				if len(l.Bars) != len(d.Lanes[i].Bars) || len(l.Marks) != len(d.Lanes[i].Marks) {
					t.Fatalf("lane %s has %d bars and %d marks, want %d and %d", l.Label, len(d.Lanes[i].Bars), len(d.Lanes[i].Marks), len(l.Bars), len(l.Marks))
				}
				for j, b := range l.Bars {
					x := d.Lanes[i].Bars[j]
					var got interval
					switch {
					case x[1] == nil:
						got = rows[number(x[6])]
					case number(x[1]) < 0:
						got.from = rows[number(x[6])].to
						got.to = got.from + number(x[2])
					default:
						got = interval{number(x[1]), number(x[1]) + number(x[2])}
					}
					if want := (interval{micro(b.From), micro(b.To)}); got != want || x[0] != barSamples[b.Style].name {
						t.Errorf("%s: got %v at %v, want %s at %v", l.Label, x, got, barSamples[b.Style].name, want)
					}
				}
				for j, m := range l.Marks {
					x := d.Lanes[i].Marks[j]
					got := int64(0)
					if x[1] == nil {
						got = rows[number(x[5])].to
					} else {
						got = number(x[1])
					}
					if want := micro(m.At); got != want || x[0] != markSamples[m.Shape].name {
						t.Errorf("%s: got %v at %d, want %s at %d", l.Label, x, got, markSamples[m.Shape].name, want)
					}
				}
			}
		})
	}
}

func TestRowsTellTheWholeOperation(t *testing.T) {
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	acquire := history.Op{Time: at(1), Process: 4, Client: 1, Type: history.Invoke, F: history.FAcquire, Lock: "orders"}
	done := func(typ history.Type, change func(*history.Op)) *history.Op {
		op := acquire
		op.Time, op.Type = at(3), typ
		change(&op)
		return &op
	}
	for _, c := range []struct {
		done *history.Op
		want string
	}{
		{nil, "c1: acquire orders, process 4: info (0.001000 s to ?)"},
		{done(history.OK, func(op *history.Op) {
			op.Lease = &history.Lease{Token: "0123456789abcdef0123456789abcdef", Fence: 7, Deadline: at(1001)}
		}), "c1: acquire orders, process 4: ok, token 0123456789…, fence 7, until 1.001 s by its clock (0.001000 to 0.003000 s)"},
		{done(history.Fail, func(op *history.Op) { op.Reason = history.Busy }), "c1: acquire orders, process 4: fail (busy) (0.001000 to 0.003000 s)"},
		{done(history.Info, func(op *history.Op) { op.Reason, op.Error = history.Unknown, "i/o timeout" }), "c1: acquire orders, process 4: info (unknown), i/o timeout (0.001000 to 0.003000 s)"},
		{done(history.OK, func(op *history.Op) { op.Mode, op.Value = history.Read, []int64{3, 3} }), "c1: acquire orders, process 4: ok, value 3 3 (0.001000 to 0.003000 s)"},
	} {
		b := newBook(story.Focus{})
		rows := b.operation(history.Pair{Invoke: &acquire, Complete: c.done})
		if got := b.rows[rows[0]].String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// Every bar and every mark of the SVG file has a title.
func TestEveryMarkHasATitle(t *testing.T) {
	for _, trial := range drawn(t) {
		f := focusOn(t, trial)
		picture, err := Draw(f, func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, l := range newScene(f).Lanes {
			want += len(l.Bars) + len(l.Marks)
		}
		if got := strings.Count(string(picture), "<g><title>"); got != want {
			t.Errorf("%s: %d titles, want one for each of %d bars and marks", trial.Name, got, want)
		}
	}
}
