package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
)

// answerWords has the words and the style class of each answer. A sentence begins with Words.
var answerWords = map[answer]struct{ Words, Class, Brief string }{
	useIt:     {"Use it", "holds", "use it"},
	useOnlyIf: {"Use it only if", "limit", "only if"},
	notJudged: {"Not judged:", "unknown", "not judged"},
	doNotUse:  {"Do not use it:", "bug", "do not use"},
}

// undecidedCondition is the only condition of an answer if only undecided cells restrict it.
const undecidedCondition = "the undecided cells turn out well"

// mostAssumptions is the maximum number of assumptions that a sentence names.
const mostAssumptions = 4

// Label returns the words with which the answer begins.
func (a advice) Label() string { return answerWords[a.Answer].Words }

// Brief returns the answer in two or three words, for a row of the matrix.
func (a advice) Brief() string {
	switch {
	case a.Answer == notJudged && a.Disagreed:
		return "the checkers disagree"
	case a.Answer == notJudged && a.Trials == 0:
		return "nothing was decided"
	}
	return answerWords[a.Answer].Brief
}

// Class returns the answer's class in the page's style sheet.
func (a advice) Class() string { return answerWords[a.Answer].Class }

// Words returns the rest of the sentence after Label, with names in backticks. It never says that
// a recipe is safe.
func (a advice) Words() string {
	switch a.Answer {
	case doNotUse:
		return a.refusal(" " + underWords(a.Broken[0]))
	case notJudged:
		switch {
		case a.Disagreed:
			return "two checkers disagree on a trial of this campaign, so that no verdict can be trusted."
		case a.Trials > 0:
			return "no trial under a fault decided anything about it."
		}
		return "nothing was decided."
	case useIt:
		return fmt.Sprintf("under these faults: none of %d %s under %d %s showed more than a wait, which is no proof.",
			a.Trials, wording.Plural(a.Trials, "trial"), a.Faults, wording.Plural(a.Faults, "fault"))
	}
	return a.conditions() + a.elseWords() + "." + a.undecidedWords()
}

// conditions lists the conditions that the user must ensure, numbered if there are several.
func (a advice) conditions() string {
	list, named := a.conditionList(), a.namedConditions()
	if len(list) == 0 {
		return undecidedCondition
	}
	if len(list) == 1 {
		return list[0].Text
	}
	var all []string
	for i, c := range list[:named] {
		all = append(all, conditionNumber(i)+" "+c.Text)
	}
	if n := len(list) - named; n > 0 {
		all = append(all, fmt.Sprintf("%d more %s", n, map[bool]string{true: "assumption holds", false: "assumptions hold"}[n == 1]))
	}
	return strings.Join(all[:len(all)-1], ", ") + ", and " + all[len(all)-1]
}

// Gist is like Words, but for "do not use" it omits the faults.
func (a advice) Gist() string {
	if a.Answer == doNotUse {
		return a.refusal("")
	}
	return a.Words()
}

// refusal names the broken assumption behind "do not use". where names the faults and begins with
// a space, or is "".
func (a advice) refusal(where string) string {
	b := a.Broken[0]
	text, failed := "it assumes that "+b.Cause.Assumption()+", which ", "failed"
	if b.Cause.Assumption() == "" {
		text, failed = "it showed "+b.Cause.Meaning()+",", ""
	}
	switch {
	case !b.Seen:
		text += "by its own declaration fails" + where + "; this run did not show it"
	case b.Kind == "":
		text += failed + where + ", and it declares no such flaw"
	default:
		text += failed + where
	}
	text = strings.TrimSuffix(text, ",")
	if len(a.Instead) > 0 {
		text += "; take " + takeWords(a.Instead) + " instead" + a.reentrantWords()
	}
	return text + "." + a.undecidedWords()
}

func (a advice) reentrantWords() string {
	if !a.Reentrant {
		return ""
	}
	return " (not re-entrant)"
}

func (a advice) undecidedWords() string {
	if a.Undecided == 0 {
		return ""
	}
	return fmt.Sprintf(" In %d %s the evidence did not decide.", a.Undecided, wording.Plural(a.Undecided, "cell"))
}

// underWords names the first fault, or says that nothing was disturbed, and counts the other faults.
func underWords(b brokenAssumption) string {
	text, joint := "under "+b.Faults[0], "and"
	if b.Undisturbed {
		text, joint = "even where nothing was disturbed", "and under"
	}
	if n := len(b.Faults) - 1; n > 0 {
		text += fmt.Sprintf(" %s %d more %s", joint, n, wording.Plural(n, "fault"))
	}
	return text
}

// takeWords names recipes, without the conditions under which to use them: see takenPicks.
func takeWords(picks []locks.Pick) string {
	return strings.Join(texts(picks, func(p locks.Pick) string { return "`" + p.ID + "`" }), " or ")
}

// takenPick is a recommended recipe. Untried: the campaign did not run it.
type takenPick struct {
	locks.Pick
	Untried bool
}

// takenPicks returns the recommended recipes that have a condition (locks.Pick.If), each once, in the
// order of locks.Picks, and whether the campaign ran them.
func (r result) takenPicks(rows []adviceRow) (all []takenPick) {
	taken := map[string]bool{}
	for _, x := range rows {
		for _, p := range x.Advice.taken() {
			taken[p.ID] = true
		}
	}
	for _, p := range locks.Picks() {
		if p.If != "" && taken[p.ID] {
			ran := slices.ContainsFunc(r.Matrix.Cells, func(c campaign.Cell) bool { return c.Lock == p.ID })
			all = append(all, takenPick{p, !ran})
		}
	}
	return all
}

// untried returns the names of the picks that the campaign did not run.
func untried(picks []takenPick) []string {
	picks = slices.DeleteFunc(slices.Clone(picks), func(p takenPick) bool { return !p.Untried })
	return texts(picks, func(p takenPick) string { return p.ID })
}

// taken returns the recipes that the answer recommends.
func (a advice) taken() []locks.Pick {
	all := slices.Clone(a.Instead)
	for _, x := range a.Else {
		all = append(all, x.Picks...)
	}
	return all
}

// adviceRow is a recipe's row in the list of answers.
type adviceRow struct {
	Recipe, Does string
	Advice       advice
}

// adviceRows returns the answers for the rows of a matrix, best first. Equal answers are ordered
// by the place in locks.Picks, then by the number of faults that broke assumptions, then by the
// verdicts.
func (r result) adviceRows(rows []viewRow, faults []string) []adviceRow {
	worst := worstFirst(rows)
	place := func(x adviceRow) int {
		return slices.Index(worst, x.Recipe)
	}
	var out []adviceRow
	for _, row := range rows {
		out = append(out, adviceRow{Recipe: row.Recipe, Does: doesWords(row.Summary), Advice: r.advise(row.Recipe, faults)})
	}
	slices.SortStableFunc(out, func(a, b adviceRow) int {
		return cmp.Or(cmp.Compare(a.Advice.Answer, b.Advice.Answer), cmp.Compare(pickPlace(a.Recipe), pickPlace(b.Recipe)),
			cmp.Compare(a.Advice.broke(), b.Advice.broke()), cmp.Compare(place(b), place(a)))
	})
	return out
}

// pickPlace returns a recipe's place in locks.Picks; a recipe that is not there gets the last
// place.
func pickPlace(recipe string) int {
	picks := locks.Picks()
	if i := slices.IndexFunc(picks, func(p locks.Pick) bool { return p.ID == recipe }); i >= 0 {
		return i
	}
	return len(picks)
}

// broke counts the faults under which an assumption broke in this campaign.
func (a advice) broke() int {
	faults := map[string]bool{}
	for _, b := range a.Broken {
		for _, f := range b.Faults {
			if b.Seen {
				faults[f] = true
			}
		}
	}
	return len(faults)
}

// sameAnswer identifies recipes whose answers have the same gist.
type sameAnswer struct {
	answer answer
	gist   string
}

// alikeRows groups recipes whose answers have the same gist.
func alikeRows(rows []adviceRow) []group[sameAnswer, adviceRow] {
	return groupBy(rows, func(x adviceRow) sameAnswer { return sameAnswer{x.Advice.Answer, x.Advice.Gist()} })
}

// doesWords describes in one line what a recipe does, from its summary.
func doesWords(summary string) string {
	if summary == "" {
		return ""
	}
	var all []string
	for i, step := range strings.Split(summary, " · ") {
		all = append(all, recipeSteps[min(i, len(recipeSteps)-1)]+": "+step)
	}
	return wording.Sentence(strings.Join(all, "; "))
}
