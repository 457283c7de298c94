package checker

import (
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
	// maxPicture bounds how many holds are drawn; of a longer history the
	// chunks are drawn that porcupine rejects.
	maxPicture = 400
	// pictureLimit bounds the search for the linearizations that are drawn.
	pictureLimit = 3 * time.Second

	faultColor = "#fde0c5"
	eventColor = "#f6c1c1"
	holdColor  = "#d7ead2"
)

// WindowWords tell a fault's window as it was opened, and as it was closed; nil if it
// never was.
type WindowWords func(opened history.Window, closed *history.Window) string

// Visualize writes porcupine's picture of the history, one HTML page: acquires
// and releases of every client with their (partial) linearizations, what each
// believed to hold, and the fault windows and events of the nemesis as
// annotations. Times are nanoseconds since the trial's start. Of a history too
// long to draw it shows where porcupine finds fault, else the beginning. The search
// for the model that it is drawn by ends with ctx, the drawing does not.
func Visualize(ctx context.Context, w io.Writer, e history.Evidence, words WindowWords) error {
	f := newCaseFile(e)
	if err := f.sound(); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	byLock, err := spans(f)
	if err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	p := picture{claims: pictured(ctx, f, byLock)}
	p.blueprint = blueprintFor(p.claims)
	p.model = p.build(p.claims.Permits)
	if len(e.Ops) > 0 {
		p.end = e.Ops[len(e.Ops)-1].Time + 1
	}
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		p.add(lock, byLock[lock])
	}
	p.model.Partition = func([]porcupine.Operation) [][]porcupine.Operation { return p.parts }
	_, info := porcupine.CheckOperationsVerbose(p.model, nil, pictureLimit)
	windows, err := nemesisNotes(e.Ops, p.end, words)
	if err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	info.AddAnnotations(append(p.notes, windows...))
	if err := porcupine.Visualize(p.model, info, w); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	return nil
}

// picture collects what is drawn.
type picture struct {
	blueprint
	model  porcupine.Model
	claims history.Claims
	end    time.Duration // just after the history's last entry
	drawn  int
	parts  [][]porcupine.Operation
	notes  []porcupine.Annotation
}

// add draws a lock, chunk by chunk.
func (p *picture) add(lock string, all []span) {
	if !p.counts {
		all = mergeOwn(all)
	}
	cut := chunks(all)
	if len(all) > maxPicture {
		rejected := slices.DeleteFunc(slices.Clone(cut), func(c []span) bool {
			return porcupine.CheckOperationsTimeout(p.model, operations(c), pictureLimit) != porcupine.Illegal
		})
		if len(rejected) > 0 {
			cut = rejected
		}
	}
	for _, c := range cut {
		if p.drawn > 0 && p.drawn+len(c) > maxPicture {
			p.notes = append(p.notes, porcupine.Annotation{
				Tag: "left out", Start: int64(c[0].ok), End: int64(p.end), Description: "more of " + lock + " is not drawn",
			})
			return
		}
		p.drawn += len(c)
		p.chunk(lock, c)
	}
}

func (p *picture) chunk(lock string, c []span) {
	narrow := width(spread(c)) > maxWidth
	var ops []porcupine.Operation
	for _, s := range c {
		call := s.invoke
		if narrow {
			call = s.ok
		}
		ops = append(ops, porcupine.Operation{
			ClientId: s.owner, Input: s.action(false), Call: int64(call), Return: int64(s.ok),
			Metadata: fmt.Sprintf("%s, invoked at %s, entry %d", html.EscapeString(lock), seconds(s.invoke), s.entry),
		})
		if s.end < p.end {
			ops = append(ops, porcupine.Operation{
				ClientId: s.owner, Input: s.action(true), Call: int64(s.end), Return: int64(s.end),
				Metadata: fmt.Sprintf("%s, since %s; it ended at %s by %s", html.EscapeString(lock), seconds(s.ok), seconds(s.end), s.why),
			})
		}
		p.notes = append(p.notes, porcupine.Annotation{
			ClientId: s.owner, Start: int64(s.ok), End: int64(min(s.end, p.end)), BackgroundColor: holdColor,
			Description: strings.TrimSpace("believes it holds " + lock + " " + string(s.mode)),
			Details:     html.EscapeString(fmt.Sprintf("from %s to %s (%s)", seconds(s.ok), seconds(min(s.end, p.end)), s.why)),
		})
	}
	p.parts = append(p.parts, ops)
}

// nemesisNotes are the fault windows, a lane for each fault and target, and the
// events of the nemesis.
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
		to, told := end, ""
		if pair.Complete != nil && pair.Complete.Window != nil {
			to, told = pair.Complete.Time, words(*w, pair.Complete.Window)
		} else {
			told = words(*w, nil)
		}
		notes = append(notes, porcupine.Annotation{
			Tag: strings.TrimSpace(w.Fault + " " + w.Target()), Start: int64(pair.Invoke.Time), End: int64(to),
			Description: w.Fault, Details: html.EscapeString(told), BackgroundColor: faultColor,
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
			notes[last].Description += ", " + text // two points of one lane must not coincide
			continue
		}
		notes = append(notes, porcupine.Annotation{
			Tag: "events", Start: int64(op.Time), Description: text, Details: html.EscapeString(cmp.Or(op.Error, op.Lost.String())), BackgroundColor: eventColor,
		})
	}
	return notes, nil
}
