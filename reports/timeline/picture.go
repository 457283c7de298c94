package timeline

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"text/template"
	"time"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/reports/story"
)

// Sizes of a picture, in pixels.
const (
	width     = 960
	right     = 14 // margin
	harmAt    = 54 // where the harm's label is
	lanesAt   = 82
	untitled  = 24 // where a picture begins that stands in a page, below the heading of its cell
	laneGap   = 6  // between kinds of lanes
	least     = 3  // the width of the shortest bar
	fontSize  = 11
	legendRow = 18
)

var (
	//go:embed timeline.svg.tmpl
	pictureText string
	//go:embed timeline.css
	Style string // Style is the style sheet of a page with timelines.
	//go:embed timeline.js
	Script string // Script lets the readers of a page zoom into its timelines, and pin marks.

	pictures = template.Must(template.New("").Funcs(template.FuncMap{"style": func() string { return Style }}).Parse(pictureText))
)

// Draw draws the part of a trial in focus as an SVG picture, with the steps of its story. faultColor returns a
// fault's colour as "#rrggbb". alone: the picture is a file of its own. A page needs Style, Script and Shared, and has
// a heading and the story beside the picture.
func Draw(f story.Focus, told []story.Step, faultColor func(string) string, alone bool) ([]byte, error) {
	p := newPicture(newScene(f, told), faultColor)
	if p.Alone = alone; !alone {
		p.Top, p.Height = untitled, p.Caption+8-untitled
	}
	return written("timeline", p)
}

// Shared returns what all timelines of a page share: it stands in the page once. The script gives each timeline the
// entries of the legend that it needs.
func Shared() ([]byte, error) {
	all, _ := legend(0, nil)
	return written("shared", all)
}

func written(name string, p any) ([]byte, error) {
	var b bytes.Buffer
	if err := pictures.ExecuteTemplate(&b, name, p); err != nil {
		return nil, fmt.Errorf("write timeline: %w", err)
	}
	return b.Bytes(), nil
}

// px is a length in pixels. It is written in tenths.
type px float64

func (x px) String() string { return strconv.FormatFloat(math.Round(float64(x)*10)/10+0, 'f', -1, 64) }

// picture is a scene with places. The template draws its parts in this order.
type picture struct {
	scene
	Alone         bool
	Top           px
	Width, Height px
	Left, Plot    px // where the lanes begin, and how wide they are
	Floor, End    px // where they end, below and at the right
	Half, Caption px // where the axis is explained
	Foot          px // where the legend begins
	Knots         string
	Grounds       []shape // behind all: they stay where they are
	Names         []text
	Shapes        []shape // across all lanes
	Ticks         []tick
	Numbers       []number
	Lines         []rule
	Rows          []strip
	Items         []item // late messages
	Harmed        text
	Legend        []entry

	ruler  ruler
	inks   func(fault string) string
	tops   []float64
	legend map[string]bool
}

// strip is what a lane has, with places from the lane's middle: equal marks are equal text.
type strip struct {
	Y      px
	Shapes []shape
	Items  []item // bars and marks
	Labels []text
	taken  room // for labels
}

// shape is a rectangle. If Pattern is set, another one of that class covers it.
type shape struct {
	Class, Ink, Pattern string
	X, Y, W, H          px
	Short               px // the true width of a bar that is too short to be seen; 0 = W
}

// rule is a line.
type rule struct {
	Class          string
	X1, Y1, X2, Y2 px
}

// item is a bar with what belongs to it, a mark or a late message, with its title.
type item struct {
	Class, Title string
	Bars         []shape
	Symbol       string
	Stem         bool
	X, Y         px
	Line         *rule
}

// number is that of a step. A line leads from the number to the instant X, and down to its lane.
type number struct {
	X, Shift, Foot px
	Title          string
	Number         int
}

type text struct {
	Class, Text string
	X, Y        px
}

// tick is a time at the axis. Gap says how much time passes until the next one; "" if there is no room.
type tick struct {
	X, Shift, Y, Foot, Top, Floor px // the tick leads from the floor at X to its time, moved by Shift
	GapX, GapY                    px
	Time, Gap                     string
	Broken                        bool // the axis is shorter here than time would be
}

type entry struct {
	look
	Tall, Above        px // of a bar
	X, Y, TextX, TextY px
}

func newPicture(s scene, faultColor func(string) string) *picture {
	p := &picture{scene: s, Width: width, Left: 64, inks: faultColor, legend: map[string]bool{}}
	floor := float64(lanesAt)
	for i, l := range s.Lanes {
		if i > 0 && s.Lanes[i-1].Kind != l.Kind {
			floor += laneGap
		}
		p.tops = append(p.tops, floor)
		floor += laneHeights[l.Kind]
		p.Left = max(p.Left, px(widthOf(l.Label)+14))
		p.Rows = append(p.Rows, strip{Y: px(floor - laneHeights[l.Kind]/2)})
	}
	p.Floor, p.End, p.Plot = px(floor), width-right, width-right-p.Left
	p.Half, p.Caption, p.Foot = p.Plot/2, p.Floor+64, p.Floor+84
	p.ruler = s.Axis.over(float64(p.Plot))
	p.ground()
	for i, l := range s.Lanes {
		p.lane(i, l)
	}
	p.story()
	p.axis()
	p.Legend, p.Height = legend(p.Foot, p.legend)
	return p
}

// widthOf returns the width of a text, with some room: not every viewer has the same font.
func widthOf(s string) float64 { return 1.08 * svg.TextWidth(fontSize, s) }

func (p *picture) x(t time.Duration) float64 { return p.ruler.x(t) }

func (p *picture) middle(i int) float64 { return p.tops[i] + laneHeights[p.Lanes[i].Kind]/2 }

// end returns when the harm ends, or else the picture.
func (p *picture) end() time.Duration {
	if p.Harm.Forever {
		return p.Axis[len(p.Axis)-1].At
	}
	return p.Harm.To
}

// ground draws what is behind the bars: lanes, faults in force, the harm, and what is aimed at a lane.
func (p *picture) ground() {
	tall := p.Floor - lanesAt
	across := func(class, ink string, from, to time.Duration) {
		x := p.x(from)
		p.Shapes = append(p.Shapes, shape{Class: class, Ink: ink, X: px(x), Y: lanesAt, W: px(max(1, p.x(to)-x)), H: tall})
	}
	for i, l := range p.Lanes {
		p.Names = append(p.Names, text{Text: l.Label, X: p.Left - 8, Y: px(p.middle(i) + 4)})
		if l.Kind >= clientLane {
			p.Grounds = append(p.Grounds, shape{Class: "lane", X: p.Left, Y: px(p.tops[i] + 1), W: p.Plot, H: px(laneHeights[l.Kind] - 2)})
		}
		for _, b := range l.Bars {
			if b.Look == barFault {
				across("band", p.inks(b.Fault), b.From, b.To)
			}
		}
	}
	across("harm", "", p.Harm.From, p.end())
	p.legend["harm"] = true
	for i, l := range p.Lanes {
		over := func(k *look, ink string, from, to time.Duration) {
			x := p.x(from)
			h := laneHeights[l.Kind] - 2
			p.Rows[i].Shapes = append(p.Rows[i].Shapes, shape{Class: k.Name, Ink: ink, Pattern: k.Pattern, X: px(x), Y: px(-h / 2), W: px(p.x(to) - x), H: px(h)})
			p.legend[k.Name] = true
		}
		for _, s := range l.Shades {
			over(shadeLook, p.inks(s.Fault), s.From, s.To)
		}
		if last := p.Axis[len(p.Axis)-1].At; l.Dead > 0 && l.Dead <= last {
			over(deadLook, "", l.Dead, last)
		}
	}
}

// lane draws the bars and marks of a lane, and what is written at them.
func (p *picture) lane(i int, l lane) {
	row := &p.Rows[i]
	for n, b := range l.Bars {
		bars := []shape{p.bar(b.Look, b.From, b.To)}
		if b.Look == barFault {
			bars[0].Ink = p.inks(b.Fault)
		}
		for _, x := range b.Refused {
			if r, last := p.bar(barBusy, x.From, x.To), bars[len(bars)-1]; len(bars) == 1 || r.X > last.X+last.W {
				bars = append(bars, r)
			}
		}
		row.Items = append(row.Items, item{Class: clientClass(b.Client), Title: b.Title, Bars: bars})
		p.barLabel(row, l.Bars, n)
	}
	for _, m := range p.thin(l.Marks) {
		k, x := m.Look, px(p.x(m.At))
		it := item{Class: clientClass(m.Client), Title: m.Title, Symbol: k.Name, Stem: k.Stem, X: x, Y: px(k.Top)}
		if m.Foreign {
			it.Class = foreignLook.Name
			p.legend[it.Class] = true
		}
		p.legend[k.Name] = true
		row.Items = append(row.Items, it)
		if m.Label != "" {
			dy := 4.0
			if l.Kind >= clientLane {
				dy = -6 // above the bars
			}
			p.write(row, m.Label, "halo", dy, float64(x)+8, float64(x)-8-widthOf(m.Label))
		}
	}
}

// bar returns the rectangle of a bar. The shortest can still be seen.
func (p *picture) bar(k *look, from, to time.Duration) shape {
	p.legend[k.Name] = true
	x := p.x(from)
	s := shape{Class: k.Name, Pattern: k.Pattern, X: px(x), Y: px(k.Top), W: px(p.x(to) - x), H: px(k.Height)}
	if s.W < least {
		s.W, s.Short = least, max(s.W, .1)
	}
	return s
}

// story draws the edges of the harm, the late messages and the numbered steps.
func (p *picture) story() {
	from, to := px(p.x(p.Harm.From)), px(p.x(p.end()))
	p.Lines = append(p.Lines, rule{"edge", from, lanesAt, from, p.Floor})
	if !p.Harm.Forever && to > from+1 {
		p.Lines = append(p.Lines, rule{"edge", to, lanesAt, to, p.Floor})
	}
	half := px(widthOf(p.Harm.Label)*0.55 + 2) // it is bold
	p.Harmed = text{"alarm", p.Harm.Label, min(max((from+to)/2, half), p.Plot-half), harmAt}
	seen := map[[4]px]bool{}
	for _, a := range p.Arrows {
		r := rule{"late", px(p.x(a.Sent)), px(p.middle(a.From)), px(p.x(a.Came)), px(p.middle(a.To))}
		if near := [4]px{r.X1 / 4, r.X2 / 4, r.Y1, r.Y2}; !seen[near] { // as many as can be told apart
			seen[near] = true
			p.legend["late"] = true
			p.Items = append(p.Items, item{Class: "message", Title: a.Title, Line: &r})
		}
	}
	last := -20.0
	for i, s := range p.Steps {
		x, foot := p.x(s.At), float64(p.Floor)
		last = min(max(x, last+17), float64(p.Plot)-float64(17*(len(p.Steps)-1-i)))
		if s.Lane >= 0 {
			foot = p.middle(s.Lane)
		}
		title := fmt.Sprintf("%d. %s: %s", i+1, wording.Instant(s.At), wording.Plain(wording.Sentence(s.Text)))
		p.Numbers = append(p.Numbers, number{px(x), px(last - x), px(foot), title, i + 1})
		p.legend["step"] = true
	}
}
