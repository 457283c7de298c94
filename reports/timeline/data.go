package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/reports/story"
)

// Data returns the timeline of the part of a trial in focus as JSON, from which a page's script
// draws the picture. The JSON is much shorter than the SVG file, and has no title: the page names
// the trial. Times are whole microseconds since the trial's start.
func Data(f story.Focus) (json.RawMessage, error) {
	s := newScene(f)
	d := sceneData{
		Subtitle: s.Subtitle,
		From:     micro(s.From), To: micro(s.To),
		Harm: []any{micro(s.Harm.From), micro(s.Harm.To), s.HarmLabel},
	}
	if s.Harm.Forever {
		d.Harm[1] = micro(s.To)
	}
	for i, x := range samples {
		if s.has(x) {
			d.Legend = append(d.Legend, i)
		}
	}
	for _, l := range s.Lanes {
		d.Lanes = append(d.Lanes, s.laneData(l))
	}
	d.Rows = rowData(s.Rows)
	var text bytes.Buffer
	plain := json.NewEncoder(&text)
	plain.SetEscapeHTML(false)
	if err := plain.Encode(d); err != nil {
		return nil, fmt.Errorf("write timeline as data: %w", err)
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

// Key is the data that all timelines of a page share.
type Key struct {
	Samples []Sample `json:"samples"` // sceneData.Legend has indices into it
	// Inks are the clients' colours: client n has the colour at n modulo the number of inks. On
	// are the colours of text on these inks.
	Inks []string `json:"inks"`
	On   []string `json:"on"`
}

// Sample is one entry of a legend. Name names the look of a bar, a mark or a background, such as
// "hold". Text explains it.
type Sample struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// NewKey returns the key of all timelines of this program.
func NewKey() Key {
	var k Key
	for _, s := range samples {
		k.Samples = append(k.Samples, Sample{Name: s.name, Text: s.text})
	}
	for _, c := range svg.ClientInks {
		k.Inks, k.On = append(k.Inks, svg.Hex(c)), append(k.On, svg.Hex(svg.On(c)))
	}
	return k
}

// sceneData is a scene in JSON. Frequent parts are arrays instead of objects, because arrays are
// shorter.
type sceneData struct {
	Subtitle string     `json:"subtitle"`
	From     int64      `json:"from"`
	To       int64      `json:"to"`
	Harm     []any      `json:"harm"`   // from, to, label
	Legend   []int      `json:"legend"` // indices in Key.Samples
	Lanes    []laneData `json:"lanes"`
	Rows     rowsData   `json:"rows"`
}

// rowsData holds the rows of a scene, one slice for each field of a row.
type rowsData struct {
	From   []int64  `json:"from"`   // difference from the previous row's beginning
	Length []int64  `json:"length"` // -1 = open
	Who    []string `json:"who"`
	What   []string `json:"what"`
}

type laneData struct {
	Kind   laneKind `json:"kind"`
	Label  string   `json:"label,omitempty"`
	Dead   int64    `json:"dead,omitempty"`
	Shades [][]any  `json:"shades,omitempty"` // from, length, fault
	// A bar: look, from (null = the beginning of the bar's first row; -1 = the end of that row),
	// length (null = the first row's length), client or fault, label, times, rows...
	Bars [][]any `json:"bars,omitempty"`
	// A mark: look, at (null = the end of the mark's first row), client, foreign (1), label, rows...
	Marks [][]any `json:"marks,omitempty"`
}

func (s scene) laneData(l lane) laneData {
	d := laneData{Kind: l.Kind, Label: l.Label, Dead: micro(l.Dead)}
	for _, x := range l.Shades {
		d.Shades = append(d.Shades, []any{micro(x.From), length(x.From, x.To), x.Fault})
	}
	for _, b := range l.Bars {
		var whose any = b.Client
		if b.Style == barFault {
			whose = b.Fault
		}
		from, long := s.interval(b)
		d.Bars = append(d.Bars, numbered([]any{barSamples[b.Style].name, from, long, whose, b.Label, b.Times}, b.Rows))
	}
	for _, m := range l.Marks {
		foreign := 0
		if m.Foreign {
			foreign = 1
		}
		var at any = micro(m.At)
		if len(m.Rows) > 0 && m.At == s.Rows[m.Rows[0]].To {
			at = nil
		}
		d.Marks = append(d.Marks, numbered([]any{markSamples[m.Shape].name, at, m.Client, foreign, m.Label}, m.Rows))
	}
	return d
}

// interval returns a bar's beginning and length, in the form of laneData.Bars.
func (s scene) interval(b bar) (from, long any) {
	from, long = micro(b.From), length(b.From, b.To)
	if len(b.Rows) == 0 {
		return from, long
	}
	switch first := s.Rows[b.Rows[0]]; {
	case first.Open:
	case b.From == first.From && b.To == first.To:
		return nil, nil
	case b.From == first.To:
		from = -1
	}
	return from, long
}

func rowData(rows []row) (d rowsData) {
	before := int64(0)
	for _, r := range rows {
		n := length(r.From, r.To)
		if r.Open {
			n = -1
		}
		d.From, d.Length = append(d.From, micro(r.From)-before), append(d.Length, n)
		d.Who, d.What = append(d.Who, r.Who), append(d.What, r.What)
		before = micro(r.From)
	}
	return d
}

func numbered(fields []any, rows []int) []any {
	for _, n := range rows {
		fields = append(fields, n)
	}
	return fields
}

func micro(d time.Duration) int64 { return d.Microseconds() }

// length returns the microseconds from one time to another. Both are rounded down first.
func length(from, to time.Duration) int64 { return micro(to) - micro(from) }
