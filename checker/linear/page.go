package linear

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

const (
	// maxPicture is the greatest number of holds that are drawn. If a history has more,
	// only the chunks that porcupine rejects are drawn, if there are any.
	maxPicture = 400
	// maxWaiting is the greatest number of concurrent acquires that are drawn from their invocations on:
	// porcupine's search is exponential in this number.
	maxWaiting = 8
	// pictureLimit is the time limit for finding the linearizations to draw.
	pictureLimit = 3 * time.Second

	faultColor = "#fde0c5"
	eventColor = "#f6c1c1"
	holdColor  = "#d7ead2"
)

// WindowWords describes a fault's window from its state when it opened and its state when
// it closed; closed is nil if it never closed.
type WindowWords func(opened history.Window, closed *history.Window) string

// Page is porcupine's picture of a history, as one HTML page. It shows every client's
// acquires and releases with their (partial) linearizations, the believed holds, and the
// nemesis' fault windows and events as annotations. Times are nanoseconds since the trial's
// start. If the history is too long to draw, the page shows the parts that porcupine
// rejects; if it rejects none, the page shows the beginning.
type Page struct {
	Claims  history.Claims // the claims determine the model
	Spans   map[string][]Span
	Ops     []history.Op
	Windows WindowWords
	Instant func(time.Duration) string // formats an instant
}

// Draw writes the page.
func (g Page) Draw(w io.Writer) error {
	p := picture{spec: ModelOf(g.Claims).believed(g.Claims.Permits), instant: g.Instant}
	p.model = p.spec.model()
	if len(g.Ops) > 0 {
		p.end = g.Ops[len(g.Ops)-1].Time + 1
	}
	for _, lock := range slices.Sorted(maps.Keys(g.Spans)) {
		p.add(lock, g.Spans[lock])
	}
	p.model.Partition = func([]porcupine.Operation) [][]porcupine.Operation { return p.parts }
	_, info := porcupine.CheckOperationsVerbose(p.model, nil, pictureLimit)
	windows, err := nemesisNotes(g.Ops, p.end, g.Windows)
	if err != nil {
		return fmt.Errorf("windows of the nemesis: %w", err)
	}
	info.AddAnnotations(append(p.notes, windows...))
	var b bytes.Buffer
	if err := porcupine.Visualize(p.model, info, &b); err != nil {
		return err
	}
	page, err := ordered(b.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(page)
	return err
}

// Drawable returns claims whose model can draw the history without marking a fence as
// illegal: c itself, or c without fences. A client may learn of its grant only after a
// later grant has come and gone. This breaks no promise, but a picture with both holds and
// fences would show the client's fence too late.
func Drawable(ctx context.Context, c history.Claims, byLock map[string][]Span) history.Claims {
	m := ModelOf(c)
	answers, fenced := CheckSpans(ctx, c, byLock), within(ctx, pictureLimit, m.believed(c.Permits))
	for lock, all := range byLock {
		if !m.spec.again {
			all = Merge(all)
		}
		if answers[lock] == Legal && fenced.askSpans(all) != Legal {
			return unfenced(c)
		}
	}
	return c
}

// Merge joins overlapping or adjacent spans of one owner, for the models without spec.again: they do
// not allow an owner to acquire twice.
func Merge(all []Span) []Span {
	merged := make([]Span, 0, len(all))
	last := map[int]int{} // by owner: index of its last merged span
	for _, s := range all {
		i, ok := last[s.Owner]
		if ok && s.OK <= merged[i].End {
			if s.End > merged[i].End {
				merged[i].End, merged[i].Why = s.End, s.Why
			}
			continue
		}
		last[s.Owner] = len(merged)
		merged = append(merged, s)
	}
	return merged
}

type picture struct {
	spec    spec
	model   porcupine.Model
	instant func(time.Duration) string
	end     time.Duration // just after the history's last entry
	drawn   int
	parts   [][]porcupine.Operation
	notes   []porcupine.Annotation
}

// add draws the spans of one lock, chunk by chunk.
func (p *picture) add(lock string, all []Span) {
	if !p.spec.again {
		all = Merge(all)
	}
	cut := slices.Collect(chunks(all))
	if len(all) > maxPicture {
		rejected := slices.DeleteFunc(slices.Clone(cut), func(c []Span) bool {
			return within(context.Background(), pictureLimit, p.spec).askPorcupine(canonical(c, p.spec.fenced)) != Illegal
		})
		if len(rejected) > 0 {
			cut = rejected
		}
	}
	for _, c := range cut {
		if p.drawn > 0 && p.drawn+len(c) > maxPicture {
			p.notes = append(p.notes, porcupine.Annotation{
				Tag: "left out", Start: int64(c[0].OK), End: int64(p.end), Description: "more of " + lock + " is not drawn",
			})
			return
		}
		p.drawn += len(c)
		p.chunk(lock, c)
	}
}

func (p *picture) chunk(lock string, c []Span) {
	narrow := slices.ContainsFunc(c, func(s Span) bool { return waiting(c, s.OK) > maxWaiting })
	var ops []porcupine.Operation
	for _, s := range c {
		call := s.Invoke
		if narrow {
			call = s.OK
		}
		ops = append(ops, porcupine.Operation{
			ClientId: s.Owner, Input: s.action(false), Call: int64(call), Return: int64(s.OK),
			Metadata: fmt.Sprintf("%s, invoked at %s, entry %d", html.EscapeString(lock), p.instant(s.Invoke), s.Entry),
		})
		if s.End < p.end {
			ops = append(ops, porcupine.Operation{
				ClientId: s.Owner, Input: s.action(true), Call: int64(s.End), Return: int64(s.End),
				Metadata: fmt.Sprintf("%s, since %s; it ended at %s by %s", html.EscapeString(lock), p.instant(s.OK), p.instant(s.End), s.Why),
			})
		}
		p.notes = append(p.notes, porcupine.Annotation{
			ClientId: s.Owner, Start: int64(s.OK), End: int64(min(s.End, p.end)), BackgroundColor: holdColor,
			Description: strings.TrimSpace("believes it holds " + lock + " " + string(s.Mode)),
			Details:     html.EscapeString(fmt.Sprintf("from %s to %s (%s)", p.instant(s.OK), p.instant(min(s.End, p.end)), s.Why)),
		})
	}
	p.parts = append(p.parts, ops)
}

// waiting returns the number of acquires that are open at an instant.
func waiting(c []Span, at time.Duration) (n int) {
	for _, s := range c {
		if s.Invoke <= at && at <= s.OK {
			n++
		}
	}
	return n
}

// nemesisNotes returns annotations for the fault windows and for the events of the nemesis.
// Windows get one lane per fault and target.
func nemesisNotes(ops []history.Op, end time.Duration, words WindowWords) ([]porcupine.Annotation, error) {
	pairs, err := history.Pairs(ops)
	if err != nil {
		return nil, err
	}
	var notes []porcupine.Annotation
	for _, pair := range pairs {
		w := pair.Invoke.Window
		if w == nil {
			continue
		}
		to, details := end, ""
		if pair.Complete != nil && pair.Complete.Window != nil {
			to, details = pair.Complete.Time, words(*w, pair.Complete.Window)
			if pair.Complete.Window.Hangs() {
				to = end // the client is still hanging
			}
		} else {
			details = words(*w, nil)
		}
		notes = append(notes, porcupine.Annotation{
			Tag: strings.TrimSpace(w.Fault + " " + w.Target()), Start: int64(pair.Invoke.Time), End: int64(to),
			Description: w.Fault, Details: html.EscapeString(details), BackgroundColor: faultColor,
		})
	}
	for _, op := range ops {
		if op.Process != history.Nemesis || op.Window != nil || op.F == history.FKeys {
			continue
		}
		text := op.F
		if op.Client != history.NoClient {
			text += fmt.Sprintf(" c%d", op.Client)
		}
		if op.Node != "" {
			text += " " + op.Node
		}
		if op.Offset != 0 {
			text += fmt.Sprintf(" by %v", op.Offset)
		}
		if last := len(notes) - 1; last >= 0 && notes[last].Tag == "events" && notes[last].Start == int64(op.Time) {
			notes[last].Description += ", " + text // points in one lane must not coincide
			continue
		}
		notes = append(notes, porcupine.Annotation{
			Tag: "events", Start: int64(op.Time), Description: text, Details: html.EscapeString(cmp.Or(op.Error, op.Lost.String())), BackgroundColor: eventColor,
		})
	}
	return notes, nil
}
