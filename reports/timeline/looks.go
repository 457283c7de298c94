package timeline

// look is how bars, marks or backgrounds of one kind are drawn. Name is a class of the style sheet, and the
// legend explains it with Text. Top is where it begins, from the middle of its lane downwards, in pixels.
type look struct {
	Name, Text  string
	Top, Height float64 // a mark has no height: the template draws it as the symbol of its name
	Pattern     string  // class of what is drawn over a bar
	Stem        bool    // a line leads from the mark to the key's bar
	Beside      bool    // the label may stand beside the bar
}

// The looks of bars and marks.
var (
	barWait     = &look{Name: "wait", Text: "waits for the lock", Top: -.8, Height: 1.6}
	barAttempt  = &look{Name: "try", Text: "operation", Top: -4, Height: 8}
	barBusy     = &look{Name: "busy", Text: "refused", Top: -4, Height: 8}
	barHold     = &look{Name: "hold", Text: "believes it holds", Top: -9, Height: 20}
	barRead     = &look{Name: "shared", Text: "holds for reading", Top: -9, Height: 20}
	barGone     = &look{Name: "gone", Text: "believes it holds, but its key is gone", Top: -9, Height: 20, Pattern: "gaps"}
	barUnknown  = &look{Name: "unknown", Text: "outcome unknown", Top: -9, Height: 20, Pattern: "doubts"}
	barKey      = &look{Name: "key", Text: "key in Redis, in its owner's colour", Top: -5, Height: 14}
	barKeyEver  = &look{Name: "ever", Text: "key without expiry", Top: -5, Height: 14}
	barFault    = &look{Name: "fault", Text: "fault in force, in its colour", Top: -8, Height: 16, Beside: true}
	barFinding  = &look{Name: "found", Text: "found: the violation told", Top: -8, Height: 16, Beside: true}
	barOther    = &look{Name: "other", Text: "found: other violations", Top: -8, Height: 16, Beside: true}
	markRead    = &look{Name: "read", Text: "read", Top: -14}
	markWrite   = &look{Name: "write", Text: "write", Top: -14}
	markLost    = &look{Name: "lost", Text: "told that its lease ended", Top: -14}
	markCrash   = &look{Name: "crash", Text: "crash, kill"}
	markSet     = &look{Name: "set", Text: "set", Top: -11, Stem: true}
	markRenewed = &look{Name: "renewed", Text: "renewed", Top: -11, Stem: true}
	markDeleted = &look{Name: "deleted", Text: "deleted", Top: -11, Stem: true}
	markExpired = &look{Name: "expired", Text: "expired", Top: 2}
	markGone    = &look{Name: "removed", Text: "lost by its node", Top: 2}
	markEvent   = &look{Name: "event", Text: "event"}
)

var (
	foreignLook = &look{Name: "foreign", Text: "red: done to another client's key"}
	lateLook    = &look{Name: "late", Text: "message that came late"}
	stepLook    = &look{Name: "step", Text: "step of the story"}
	deadLook    = &look{Name: "dead", Text: "stopped for ever", Height: 8}
	shadeLook   = &look{Name: "shade", Text: "aimed at this client or node", Height: 8, Pattern: "hatch"}
	harmLook    = &look{Name: "harm", Text: "from the moment of the violation to its end", Height: 8}
)

// looks are all looks in the order of the legend.
var looks = []*look{
	barWait, barAttempt, barBusy, barHold, barRead, barGone, barUnknown, barKey, barKeyEver, barFault, barFinding, barOther,
	markRead, markWrite, markLost, markCrash, markSet, markRenewed, markDeleted, markExpired, markGone, markEvent,
	foreignLook, lateLook, stepLook, deadLook, shadeLook, harmLook,
}

// laneHeights are the heights of lanes, in pixels.
var laneHeights = [...]float64{faultLane: 20, findingLane: 20, clientLane: 40, nodeLane: 34}

// legend explains the looks of the names, or all, from y down, and returns where it ends.
func legend(y px, names map[string]bool) (out []entry, height px) {
	x := px(12)
	for _, k := range looks {
		if names != nil && !names[k.Name] {
			continue
		}
		w := px(widthOf(k.Text) + 38)
		if x+w > width-8 {
			x, y = 12, y+legendRow
		}
		tall := min(px(k.Height), 10)
		out = append(out, entry{*k, tall, -tall / 2, x, y, x + 24, y + 4})
		x += w
	}
	return out, y + 14
}
