package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports"
)

// GitHub shows at most ten annotations of each level for a step. The summary of a step may have up
// to 1 MiB.
const (
	mostAnnotations = 10
	mostSummaryRows = 50
	mostCellBytes   = 1000 // maximum length of a text in a row of the summary
)

// annotation is a message that GitHub shows beside a run.
type annotation struct{ level, title, text string }

// github reports the deviations of a campaign to GitHub Actions, if the program runs there: as
// annotations, the worst first, and as a summary of the step.
func (a *output) github(s campaign.Stored) {
	if a.environment("GITHUB_ACTIONS") == "true" {
		writeAnnotations(a.stderr, annotations(s)) // stdout may be JSON; GitHub reads annotations from stderr too
	}
	if file := a.environment("GITHUB_STEP_SUMMARY"); file != "" {
		if err := appendTo(file, stepSummary(s)); err != nil {
			a.say(a.stderr, "lockstorm: GITHUB_STEP_SUMMARY: %v", err)
		}
	}
}

func appendTo(file, text string) (err error) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	_, err = io.WriteString(f, text)
	return err
}

// annotations lists failed trials and undeclared violations; with --expect also declared flaws that
// were not found and faults that hit nothing; then doubtful violations.
func annotations(s campaign.Stored) (all []annotation) {
	for _, t := range s.Matrix.Failed {
		all = append(all, annotation{"error", "trial failed", fmt.Sprintf("%s of %s under %s: %s", t.Spec.Title(), t.Spec.Lock, t.Spec.Fault, t.Err)})
	}
	for _, f := range undeclaredFlaws(s) {
		text := fmt.Sprintf("%s under %s: %s violated by %s", f.Lock, f.Fault, f.Oracle, f.Cause)
		if story := storyOf(f); story != "" {
			text += ": " + story
		}
		all = append(all, annotation{"error", "violation that is not declared", text + "\n" + f.Replay})
	}
	if s.Info.Config.Expect {
		for _, m := range s.Matrix.Missed {
			level := "error"
			if m.Hidden {
				level = "warning"
			}
			all = append(all, annotation{level, "declared flaw that was not found", fmt.Sprintf("%s: %s by %s, looked for under %s", m.Lock, m.Oracle, m.Cause, m.Fault)})
		}
		for _, c := range s.Matrix.NotExercised() {
			all = append(all, annotation{"error", "fault that hit nothing", fmt.Sprintf("%s under %s", c.Lock, c.Fault)})
		}
	}
	for _, d := range s.Matrix.Doubtful {
		all = append(all, annotation{"warning", "undecided", fmt.Sprintf("%s under %s: %s", d.Lock, d.Fault, d.Words())})
	}
	return all
}

// undeclaredFlaws lists the shown flaws that their recipes do not declare, the worst first.
func undeclaredFlaws(s campaign.Stored) []campaign.ShownFlaw {
	return slices.DeleteFunc(flawsWorstFirst(s), func(f campaign.ShownFlaw) bool { return f.Kind != "" })
}

// writeAnnotations writes annotations as GitHub's workflow commands, at most as many of each level
// as GitHub shows. If a level has more, its last annotation says how many are missing.
func writeAnnotations(w io.Writer, all []annotation) {
	for _, level := range []string{"error", "warning"} {
		of := slices.DeleteFunc(slices.Clone(all), func(x annotation) bool { return x.level != level })
		if more := len(of) - (mostAnnotations - 1); more > 1 {
			of = append(of[:mostAnnotations-1], annotation{level, "and more", fmt.Sprintf("%d more: see the log of this step, or report.md of the stored campaign", more)})
		}
		for _, x := range of {
			fmt.Fprintf(w, "::%s title=%s::%s\n", x.level, escapeProperty("Lockstorm: "+x.title), escapeData(x.text))
		}
	}
}

// escapeData escapes the message of a workflow command.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty escapes a property of a workflow command.
func escapeProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(s))
}

// stepSummary describes a campaign in GitHub's Markdown: a list of its other deviations, and then a
// table of its flaws, the worst first, each with the command that shows it.
func stepSummary(s campaign.Stored) string {
	violated := 0
	for _, t := range s.Trials {
		if t.Violation() {
			violated++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## Lockstorm: %s of %s violated, on testbed %s, seed %d\n\n", count(violated, "trial"), fmt.Sprint(len(s.Trials)), s.Matrix.Testbed, s.Matrix.Seed)
	if s.Matrix.Interrupted {
		fmt.Fprintf(&b, "**Interrupted: %d of %d planned trials.**\n\n", s.Matrix.Finished, s.Matrix.Planned)
	}
	for _, x := range annotations(s) {
		if x.title == "violation that is not declared" {
			continue // the table below lists these
		}
		fmt.Fprintf(&b, "- %s: %s\n", x.title, cellText(x.text))
		if b.Len() > mostSummaryRows*mostCellBytes {
			b.WriteString("- and more: see the log of this step\n")
			break
		}
	}
	flaws := flawsWorstFirst(s)
	if len(flaws) == 0 {
		return b.String() + "\nNo violation in the trials that were run.\n\n"
	}
	b.WriteString("\n| kind | recipe | fault | violated | cause | again |\n|---|---|---|---|---|---|\n")
	for _, f := range flaws[:min(len(flaws), mostSummaryRows)] {
		kind := reports.KindWords(f.Lock, f.Kind)
		if f.Kind == "" {
			kind = "**" + kind + "**"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | <code>%s</code> |\n", kind, f.Lock, f.Fault, f.Oracle, f.Cause, cellText(f.Replay))
	}
	if more := len(flaws) - mostSummaryRows; more > 0 {
		fmt.Fprintf(&b, "\n%d more: see report.md of the stored campaign.\n", more)
	}
	return b.String() + "\n"
}

// cellText returns s shortened and escaped for a cell of a Markdown table.
func cellText(s string) string {
	if len(s) > mostCellBytes {
		s = strings.ToValidUTF8(s[:mostCellBytes], "") + " …"
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "\n", " ", "\r", " ", "`", "&#96;", "*", "&#42;", "_", "&#95;").Replace(s)
}
