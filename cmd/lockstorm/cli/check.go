package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/cmd/lockstorm/check"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/history/jepsen"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/trial"
)

const checkHelp = `Check judges a history, or the folder of a trial or of a Jepsen run, by the
oracles that judge a run. The history is in JSON Lines as Lockstorm writes them,
one JSON array of these, or EDN as Jepsen writes it: one vector or list of
operations, or one a line. Check also judges a log of holds, in CSV.

With --model a history is read in two ways, and the worse result counts.
  exclusion     what clients believed: a hold lasts from the acquire's ok until
                the release is invoked, whatever its result, or until its
                deadline, a crash, or news that the lease is lost. No two holds
                may overlap.
  linearizable  what was answered, as Knossos judges: ok took effect at one
                instant between its invocation and its ok; fail did not happen;
                info takes effect any time from its invocation on, or never. Some
                order of the operations must fit the model.
They differ where a hold ends without an acknowledged release: after a release
that failed, a crash or a deadline the lock is still held for linearizable, and
free for exclusion. They also differ where linearizable allows a lock to be freed or
taken while a client holds it: by any client's release of a mutex, or by an operation
of unknown outcome. And a model says more than that holds do not overlap: which client
may release, that no client acquires twice, that fences grow.

Of a trial it also uses commands.jsonl, keys.jsonl and spec.json in the history's
folder; without spec.json, say with --model what kind of lock it is. If files are cut
short, or no verdict.json confirms them, no property holds: each is violated or unknown.
If files were changed since the run judged them, everything is unknown. Stderr says what
a history leaves open, and how check understood it.

A history may lack indices, times and clients, each in every entry or in none.
Without clients, each process is a client.

An entry in JSON is an object with "process" (a number), "type" (invoke, ok, fail
or info), "f" (acquire, release, extend, read or write) and, as far as known,
"lock" (its name), "client", "index", "time" (nanoseconds), "mode" (read or write),
"lease" ({"token":"t","fence":7,"deadline":nanoseconds}); of reads and writes
"value" ([7]) and "seq", the order in which the resource saw them. Operations in
EDN are :f :acquire, :release, :extend, :read and :write (or :lock, :unlock, :renew,
:refresh, :read-lock, :write-lock, :acquire-read, …), a :value is nil, a lock's
name, [lock value], a fence, a token, or a map with :lock, :fence, :token, :client.

A log of holds is CSV. Its header names the columns process, lock, from and to, and
perhaps deadline and mode (read or write). All times are RFC 3339, or all are seconds;
to is empty where the log does not say when a hold ended. Such a log needs --model and
--clock-error, and is judged by overlaps of holds alone.

With --export the history is written, not judged: edn as Jepsen writes it (with
extra keys, such as :deadline, for values that Jepsen does not have), jsonl as
Lockstorm writes it, or knossos: only the believed holds, as acquires and releases,
which Knossos's mutex can judge.`

func checkCommand(a *app) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Judge a history of Lockstorm, of Jepsen or of another program",
		Long:  checkHelp,
		Example: `  lockstorm check docs/counterexamples/set-nx-ex-delay
  lockstorm check h.edn --model mutex --timeline h.html
  lockstorm check holds.csv --model mutex --clock-error 5ms
  lockstorm check DIR --export edn --out history.edn`,
		Args: expectArgs(1, 1, "one history file or trial folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.model, "model", "", "what kind of lock it is: "+check.ModelWords()+" (default as spec.json says)")
	flags.StringVar(&f.values, "values", "", "what a plain :value of acquires is in EDN: lock (its name) or token (of this one acquire); none if all acquires have the same")
	flags.Var(newDurationOr(&f.clockError), "clock-error", "for a log of holds: the greatest error of any process's clock that stamped lines; 0s if one clock stamped all lines")
	flags.StringVar(&f.timeline, "timeline", "", "draw the violation to FILE.svg, or the whole history, by porcupine, to FILE.html")
	flags.StringVar(&f.export, "export", "", "write the history instead: "+strings.Join(check.ExportNames(), ", "))
	flags.StringVar(&f.out, "out", "", "the file for --export (default stdout)")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no verdicts, only set the exit code")
	return cmd
}

// checkGC is the value of GOGC while a history is judged, unless the user sets GOGC. Entries take
// most of the memory: for 1,000,000 operations, 20 instead of 100 saves two fifths of the memory and
// costs a third more processor time.
const checkGC = 20

func (a *app) check(ctx context.Context, path string, f checkFlags) error {
	if err := f.contradictions(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(checkGC))
	}
	h, err := check.Load(path, jepsen.Values(f.values))
	if err != nil {
		return err
	}
	if err := f.fit(path, h.Log); err != nil {
		return err
	}
	if h.Log != nil {
		return a.checkHolds(ctx, path, f, h)
	}
	a.warn(path, h)
	if f.model != "" {
		h.Record.Evidence.Claims = check.Modelled(h.Record.Evidence.Claims, f.model)
	}
	if f.export != "" {
		return a.export(f, h)
	}
	if check.LacksFences(f.model, h.Record.Evidence.Ops) {
		return input.Errorf("%s: --model %s: no grant in this history has a fence (in JSON \"lease\":{\"fence\":7}, in EDN :fence 7 or a number as :value): expected fences, or a model without them", path, f.model)
	}
	if f.model == "" && h.Record.Spec == nil {
		return input.Errorf("%s: its folder has no %s with the lock's claims: expected --model %s", path, trial.SpecFile, check.ModelWords())
	}
	result, err := h.Judge(ctx, check.ByModel(f.model)...)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, known := locks.ByID(result.Spec.Lock); !known {
		result.Flaws = nil // the flaws that this recipe declares are unknown
	}
	if h.Record.Spec == nil {
		check.OfModel(result.Verdicts)
	}
	if f.timeline != "" {
		if err := a.draw(ctx, f, path, result, h.Record.Evidence); err != nil {
			return err
		}
	}
	return a.tell(f, h, result, logReading{})
}

// logReading holds what check adds to the evidence of a log of holds.
type logReading struct {
	lines  []int  // the line in the file, by an entry's index
	limits string // what the log cannot show
}

// checkHolds judges a log of holds: it looks for holds that overlap.
func (a *app) checkHolds(ctx context.Context, path string, f checkFlags, h check.History) error {
	switch {
	case f.export != "":
		return input.Errorf("%s: --export %s: this is a log of holds: expected a history", path, f.export)
	case f.model == "":
		return input.Errorf("%s: expected --model %s", path, check.ModelWords())
	}
	result, readings, err := check.JudgeLog(ctx, h.Log, f.clockError, f.model)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h.Notes = check.LogNotes(h.Log, readings, f.clockError)
	h.Record.Evidence = history.Evidence{Ops: readings.Certain, Claims: check.Modelled(history.Claims{}, f.model)}
	a.warn(path, h)
	if f.timeline != "" {
		if err := a.draw(ctx, f, path, result, h.Record.Evidence); err != nil {
			return err
		}
	}
	return a.tell(f, h, result, logReading{readings.Lines, check.LogLimits})
}

// warn prints notes and warnings about reading the history on stderr.
func (a *output) warn(path string, h check.History) {
	for _, t := range h.Record.Truncated {
		fmt.Fprintf(a.stderr, "lockstorm: %v\n", t)
	}
	if h.Record.Differs != nil {
		fmt.Fprintf(a.stderr, "lockstorm: %s: %v\n", path, h.Record.Differs)
	}
	for _, n := range h.Notes {
		fmt.Fprintf(a.stderr, "lockstorm: %s: %s\n", path, n)
	}
}

// export writes the history in the format that --export names.
func (a *output) export(f checkFlags, h check.History) error {
	var b bytes.Buffer
	if err := check.Export(&b, f.export, h.Record.Evidence); err != nil {
		return &input.Error{Err: err}
	}
	if f.out == "" {
		_, err := a.stdout.Write(b.Bytes())
		return err
	}
	if err := os.WriteFile(f.out, b.Bytes(), 0o666); err != nil {
		return &input.Error{Err: err}
	}
	return nil
}

// draw writes the picture to the file that --timeline names.
func (a *output) draw(ctx context.Context, f checkFlags, path string, t trial.Result, e history.Evidence) error {
	if t.Spec.Lock == "" { // no recipe: the picture's title names the file and the model
		t.Spec.Lock, t.Spec.Fault = filepath.Base(path), "the model "+f.model
	}
	picture, err := check.Draw(ctx, f.timeline, t, e)
	if err != nil {
		return fmt.Errorf("draw %s: %w", f.timeline, err)
	}
	if picture == nil {
		fmt.Fprintf(a.stderr, "lockstorm: %s: nothing is violated, so %s is not drawn (an .html shows the whole history)\n", path, f.timeline)
		return nil
	}
	if err := os.WriteFile(f.timeline, picture, 0o666); err != nil {
		return &input.Error{Err: err}
	}
	return nil
}

// tell prints the verdicts and the counterexample, and returns the exit code. With --quiet it prints
// nothing.
func (a *output) tell(f checkFlags, h check.History, result trial.Result, log logReading) error {
	told := check.CounterexampleOf(result, h.Record.Evidence)
	told.Lines = log.lines
	if f.json {
		err := printJSON(a.stdout, checked{
			Schema: 1, Model: f.model, Result: check.Gravest(result.Verdicts), Standing: h.Standing(), Verdicts: result.Verdicts, Differ: check.ReadingsDiffer(result.Verdicts),
			Conflict: told.Entries(), Lines: told.EntryLines(), Limits: log.limits, Notes: append([]string{}, h.Notes...),
		})
		if err != nil {
			return err
		}
		return checkExit(result.Verdicts)
	}
	if f.quiet {
		return checkExit(result.Verdicts)
	}
	a.verdicts(result)
	if why := check.ReadingsDiffer(result.Verdicts); why != "" {
		fmt.Fprintln(a.stdout)
		a.say(a.stdout, "%s", why)
	}
	told.Print(a.stdout, a.width(a.stdout), func(columns []string, rows []table.Row) string {
		return plainTable(columns, rows, slices.Repeat([]int{widestColumn}, len(columns)))
	})
	if log.limits != "" {
		fmt.Fprintln(a.stdout)
		a.say(a.stdout, "%s", log.limits)
	}
	return checkExit(result.Verdicts)
}

// checked is the output of lockstorm check --json.
type checked struct {
	Schema int            `json:"schema"`
	Model  string         `json:"model,omitempty"`
	Result checker.Result `json:"result"`
	// Standing says how far the files can be trusted.
	Standing trial.Standing    `json:"standing"`
	Verdicts []checker.Verdict `json:"verdicts"`
	// Differ says why the oracles exclusion and linearizable disagree; "" if they do not.
	Differ string `json:"differ,omitempty"`
	// Conflict lists the entries that show the most telling finding.
	Conflict []history.Op `json:"conflict"`
	// Lines are the line numbers, in the file, of the entries of Conflict. Only a log of holds has them.
	Lines []int `json:"lines,omitempty"`
	// Limits says what a log of holds cannot show.
	Limits string `json:"limits,omitempty"`
	// Notes list the history's open questions and the assumptions made about it.
	Notes []string `json:"notes"`
}

// verdicts prints a table with a row for each listed finding (reports.Listed), undeclared ones
// first. An oracle without findings has one row with the reason.
func (a *output) verdicts(result trial.Result) {
	var rows [][]string
	for _, v := range result.Verdicts {
		if len(v.Findings) == 0 {
			rows = append(rows, []string{v.Oracle, string(v.Result), "", v.Why})
		}
		shown, more := reports.Listed(result, v)
		for _, f := range shown {
			cause := string(f.Cause)
			if f.Cause == checker.Unclassified && result.Spec.Lock == "" {
				cause = "" // no recorded commands could tell the cause
			}
			if !reports.Declared(result, v.Oracle, f.Cause) {
				cause += " (not declared)"
			}
			rows = append(rows, []string{v.Oracle, string(v.Result), cause, f.Summary})
		}
		if more > 0 {
			rows = append(rows, []string{v.Oracle, string(v.Result), "", fmt.Sprintf("and %d more", more)})
		}
	}
	fmt.Fprintln(a.stdout, fittedTable([]string{"oracle", "result", "cause", "what happened"}, rows, a.width(a.stdout)))
}

// checkExit returns nil if at least one oracle held and none was violated or unknown.
func checkExit(verdicts []checker.Verdict) error {
	switch check.Gravest(verdicts) {
	case checker.Violated:
		return exit(campaign.ExitUnexpected)
	case checker.Unknown:
		return exit(campaign.ExitUnknown)
	}
	return nil
}
