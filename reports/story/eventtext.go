package story

import (
	"cmp"
	"strings"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
)

// ended is how a trial is told to have ended by the code under test.
const ended = "the trial ended in a {f} ({error})"

// eventTexts tell the events of the nemesis: as entries of the log, and as steps of the story.
// Events without a text are not told there. See filled for the words in braces; {jump} says
// how a clock was wrong, and until when.
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
	history.FSplit:     {"{client} was moved to {node}, a second primary beside the old one", ""}, // for its step see faultSteps
	history.FMigrate:   {"{names} went from {from} to {node} with the slot", "the slot of {names} went from {from} to {node}, and the key with it"},
	history.FHealed:    {"everything is healed", ""},
	history.FKeys:      {"keys on {node}: {keys}", ""},
	history.FStall:     {"the harness itself stood still for {length}", ""},
	history.FElection:  {"{node} was taken for dead though no fault had struck it", ""},
	history.FDeadlock:  {ended, ended},
	history.FPanic:     {ended, ended},
	history.FRunaway:   {ended, ended},
}

// filled puts what the event has in the place of the words in braces. more are further words,
// each with what takes its place.
func filled(text string, op history.Op, more ...string) string {
	lost := op.Lost.String()
	if lost != "" {
		lost = " and had lost " + lost
	}
	return strings.NewReplacer(append(more,
		"{f}", op.F, "{client}", history.ClientName(op.Client), "{node}", op.Node, "{from}", op.From,
		"{offset}", offsetWords(op.Offset), "{length}", prose.Length(op.Offset), "{lost}", lost,
		"{names}", cmp.Or(keyNames(op.Keys), "nothing"), "{keys}", keysWords(op.Keys), "{error}", prose.FirstLine(op.Error),
	)...).Replace(text)
}
