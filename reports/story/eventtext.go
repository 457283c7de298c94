package story

import (
	"cmp"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
)

// ended is the text for a trial that the code under test ended, by a deadlock, a panic or a runaway
// loop.
const ended = "the trial ended in a {f} ({error})"

// eventTexts describe the events of the nemesis, as entries of the log and as steps of the story.
// An empty or missing text means that the event is left out there. filled replaces the words in
// braces; {jump} says how wrong a clock was, and until when.
var eventTexts = map[string]struct{ entry, step string }{
	history.FCrash: {"{client} crashed", "{client} crashed"},
	history.FHung: {"{client} hangs in its work for ever; its process lives on",
		"{client} never came back from its work, but its process and its timers live on"},
	history.FClock:     {"{client}'s wall clock is {offset} from now on", "{client}'s wall clock {jump}"},
	history.FNodeDown:  {"{node} was killed", "{node} went down"},
	history.FNodeUp:    {"{node} came back{lost}", "{node} came back{lost}"},
	history.FPromote:   {"{node} was made the primary", "{node} was made the primary"},
	history.FNodeClock: {"{node}'s wall clock is {offset} from now on", "the clock of {node} {jump}"},
	history.FEvict:     {"{node} evicted {names}", "{node} ran short of memory and evicted {names}"},
	history.FSplit:     {"{client} was moved to {node}, a second primary beside the old one", ""}, // faultSteps writes the step
	history.FMigrate:   {"{names} went from {from} to {node} with the slot", "the slot of {names} went from {from} to {node}, and the key with it"},
	history.FHealed:    {"everything is healed", ""},
	history.FKeys:      {"keys on {node}: {keys}", ""},
	history.FStall:     {"the harness itself stood still for {length}", ""},
	history.FElection:  {"{node} was taken for dead though no fault had struck it", ""},
	history.FDeadlock:  {ended, ended},
	history.FPanic:     {ended, ended},
	history.FRunaway:   {ended, ended},
}

// filled replaces the words in braces with the data of the event. more are further pairs of a word
// and its replacement.
func filled(text string, op history.Op, more ...string) string {
	lost := op.Lost.String()
	if lost != "" {
		lost = " and had lost " + lost
	}
	return strings.NewReplacer(append(more,
		"{f}", op.F, "{client}", history.ClientName(op.Client), "{node}", op.Node, "{from}", op.From,
		"{offset}", offsetWords(op.Offset), "{length}", wording.Length(op.Offset), "{lost}", lost,
		"{names}", cmp.Or(keyNames(op.Keys), "nothing"), "{keys}", keysWords(op.Keys), "{error}", wording.FirstLine(op.Error),
	)...).Replace(text)
}
