package cli

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/history/jepsen"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/trial"
)

type checkFlags struct {
	model    string
	values   string
	timeline string
	export   string
	out      string
	json     bool
	quiet    bool
	holdFlags
}

func modelWords() string {
	var words []string
	for _, m := range linear.Models() {
		if m.Claims.Permits > 0 {
			m.Name += ":N"
		}
		words = append(words, m.Name)
	}
	return strings.Join(words, ", ")
}

const checkHelp = `Check judges a history, or the folder of a trial or of a Jepsen run, by the
oracles that judge a run. The history is in JSON Lines as Lockstorm writes them,
one JSON array of these, or EDN as Jepsen writes it: one vector or list of
operations, or one a line.

With --model it is read in two ways, and the worse result counts.
  exclusion     what clients believed: a hold lasts from the acquire's ok until
                the release is invoked, whatever becomes of that, or until its
                deadline, a crash, or word that it is lost. No two may overlap.
  linearizable  what was answered, as Knossos judges: ok took effect at one
                instant between its invocation and its ok; fail did not happen;
                info takes effect any time from its invocation on, or never. Some
                order of the operations must fit the model.
They differ where a hold ends without an acknowledged release: after a release
that failed, a crash or a deadline the lock is still held for linearizable, and
free for exclusion. They differ too where a lock is let go of or taken under its
holder: by anybody's release of a mutex, or by an operation of unknown outcome,
which linearizable allows; and in what the model says beyond overlaps, such as
who may release, that nobody acquires twice, and that fences grow.

Of a trial it uses commands.jsonl, keys.jsonl and spec.json if they lie beside the
history; without spec.json, say with --model what kind of lock it is. Nothing is said to
hold where files are cut short, or no verdict.json vouches for them, though what is there
may still show a violation; where they were changed since the run judged them, everything
is unknown. What a history leaves open, and how it was taken, is said on stderr.

A history may lack indices, times and clients, each in every entry or in none.
Clients are then its processes; those that may succeed each other on one of Jepsen's
threads are judged both as one and as several: what differs is unknown.

An entry in JSON is an object with "process" (a number), "type" (invoke, ok, fail
or info), "f" (acquire, release, extend, read or write) and, as far as known,
"lock" (its name), "client", "index", "time" (nanoseconds), "mode" (read or write),
"lease" ({"token":"t","fence":7,"deadline":nanoseconds}); of reads and writes
"value" ([7]) and "seq", the order in which the resource saw them. Operations in
EDN are :f :acquire, :release, :extend, :read and :write (or :lock, :unlock, :renew,
:refresh, :read-lock, :write-lock, :acquire-read, …), a :value is nil, a lock's
name, [lock value], a fence, a token, or a map with :lock, :fence, :token, :client.

With --export the history is written, not judged: edn as Jepsen writes it (what
Jepsen has no word for stands in keys of its own, such as :deadline), jsonl as
Lockstorm does, or knossos: only the believed holds, as acquires and releases,
which Knossos's mutex can judge.`

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Judge a history, of Lockstorm's, Jepsen's or anybody's",
		Long:  checkHelp,
		Example: `  lockstorm check store/latest/trials/set-nx-ex/delay/mutex-release.n0.1.before-1of2
  lockstorm check history.edn --model fenced-mutex --timeline picture.html
  lockstorm check store/latest/trials/set-nx-ex/delay/mutex-release.n0.1.before-1of2 --export edn --out history.edn`,
		Args: expectArgs(1, 1, "one history file or trial folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.model, "model", "", "what kind of lock it is: "+modelWords()+" (default as spec.json says)")
	flags.StringVar(&f.values, "values", "", "what a plain :value of acquires is in EDN: lock (its name) or token (of this one acquire); default as the history shows")
	f.register(flags)
	flags.StringVar(&f.timeline, "timeline", "", "draw what is violated to FILE.svg, or the whole history, by porcupine, to FILE.html")
	flags.StringVar(&f.export, "export", "", "write the history instead: "+strings.Join(exportNames(), ", "))
	flags.StringVar(&f.out, "out", "", "the file for --export (default stdout)")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no verdicts: the exit code tells")
	return cmd
}

// checkGC is the garbage collector's percentage while a history is judged, unless GOGC says
// another. Entries are most of the memory: of 1,000,000 operations, 40 instead of 100 takes a
// third less memory, for a tenth more time.
const checkGC = 40

func (a *app) check(ctx context.Context, path string, f checkFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(checkGC))
	}
	h, err := loadHistory(path, jepsen.Values(f.values))
	if err != nil {
		return err
	}
	if err := f.holdFlags.fit(path, h.log); err != nil {
		return err
	}
	if h.log != nil {
		return a.checkHolds(ctx, path, f, h)
	}
	a.warn(path, h)
	if f.model != "" {
		h.record.Evidence.Claims = modelled(h.record.Evidence.Claims, f.model)
	}
	if f.export != "" {
		return a.exportHistory(f, h)
	}
	if m, ok := linear.ModelNamed(f.model); ok && m.Claims.Fenced && unfenced(h.record.Evidence.Ops) {
		return input.Errorf("%s: --model %s: no grant in this history has a fence (in JSON \"lease\":{\"fence\":7}, in EDN :fence 7 or a number as :value): expected fences, or a model without them", path, f.model)
	}
	if f.model == "" && h.record.Spec == nil {
		return input.Errorf("%s: no %s beside it that says what was promised: expected --model %s", path, trial.SpecFile, modelWords())
	}
	result, err := h.judge(ctx, f.judges()...)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h.withhold(result.Verdicts)
	if _, known := locks.ByID(result.Spec.Lock); !known {
		result.Flaws = nil // what the recipe declares is unknown
	}
	if f.timeline != "" {
		if err := a.draw(ctx, f, path, result, h.record.Evidence); err != nil {
			return err
		}
	}
	return a.tell(f, h, result)
}

// tell prints the verdicts and what shows them, and returns the exit code.
func (a *app) tell(f checkFlags, h givenHistory, result trial.Result) error {
	told := counterexampleOf(result, h.record.Evidence)
	told.lines = h.lines
	if f.json {
		err := printJSON(a.stdout, checked{
			Schema: 1, Model: f.model, Result: gravest(result.Verdicts), Standing: h.standing(), Verdicts: result.Verdicts, Differ: readingsDiffer(result.Verdicts),
			Conflict: told.entries(), Lines: told.entryLines(), Limits: h.limits, Notes: append([]string{}, h.notes...),
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
	if why := readingsDiffer(result.Verdicts); why != "" {
		fmt.Fprintln(a.stdout)
		a.say(a.stdout, "%s", why)
	}
	told.print(a.stdout, a.width(a.stdout))
	if h.limits != "" {
		fmt.Fprintln(a.stdout)
		a.say(a.stdout, "%s", h.limits)
	}
	return checkExit(result.Verdicts)
}

// unfenced says whether there are grants, none of them with a fencing token.
func unfenced(ops []history.Op) bool {
	granted := func(op history.Op) bool {
		return op.Process != history.Nemesis && op.F == history.FAcquire && op.Type == history.OK
	}
	return slices.ContainsFunc(ops, granted) && !slices.ContainsFunc(ops, func(op history.Op) bool {
		return granted(op) && op.Lease != nil && op.Lease.Fence != 0
	})
}

// check returns an input.Error if the flags contradict each other.
func (f checkFlags) check() error {
	if f.model != "" {
		if _, ok := linear.ModelNamed(f.model); !ok {
			return input.Errorf("--model %q: expected one of %s", f.model, modelWords())
		}
	}
	switch {
	case f.values != "" && f.values != string(jepsen.ValuesLock) && f.values != string(jepsen.ValuesToken):
		return input.Errorf("--values %q: expected %s or %s", f.values, jepsen.ValuesLock, jepsen.ValuesToken)
	case f.export != "" && exports[f.export] == nil:
		return input.Errorf("--export %q: expected one of %s", f.export, strings.Join(exportNames(), ", "))
	case f.out != "" && f.export == "":
		return input.Errorf("--out %s: expected --export with it", f.out)
	case f.export != "" && (f.json || f.timeline != ""):
		return input.Errorf("--export %s: expected neither --json nor --timeline with it: nothing is judged", f.export)
	case f.timeline != "" && drawings[pictureKind(f.timeline)] == nil:
		return input.Errorf("--timeline %s: expected a name that ends in .svg or .html", f.timeline)
	}
	return nil
}

// judges returns the oracle that --model adds, if any.
func (f checkFlags) judges() []func(context.Context, history.Evidence) checker.Verdict {
	if f.model == "" {
		return nil
	}
	return []func(context.Context, history.Evidence) checker.Verdict{func(ctx context.Context, e history.Evidence) checker.Verdict {
		return checker.Linearizable(ctx, f.model, e)
	}}
}

// readingsDiffer says why exclusion and linearizable can differ, if they do.
func readingsDiffer(verdicts []checker.Verdict) string {
	var believed, answered checker.Result
	for _, v := range verdicts {
		switch o := checker.OracleNamed(v.Oracle); {
		case o.OfModel:
			answered = v.Result
		case o.Harm == checker.HarmOverlap:
			believed = v.Result
		}
	}
	switch {
	case believed == checker.Held && answered == checker.Violated:
		return "exclusion holds and linearizable is violated: a client stops believing when it invokes the release, at its deadline or by a crash, but only a release that took effect frees the lock; and a model may ask for more than that no holds overlap."
	case believed == checker.Violated && answered == checker.Held:
		return "exclusion is violated and linearizable holds: a client believes until it invokes the release itself, but the lock may have been let go of under it, by anybody's release or by one of unknown outcome, or let the same client in again."
	}
	return ""
}

// modelled returns claims whose kind of lock is the model's; times and scripts stay as in
// spec.json.
func modelled(c history.Claims, model string) history.Claims {
	m, _ := linear.ModelNamed(model)
	of := m.Claims
	c.Reentrant, c.ReadWrite, c.Fenced, c.Permits = of.Reentrant, of.ReadWrite, of.Fenced, of.Permits
	c.Quorum = max(c.Quorum, of.Quorum)
	return c
}

// checked is the output of --json.
type checked struct {
	Schema int            `json:"schema"`
	Model  string         `json:"model,omitempty"`
	Result checker.Result `json:"result"`
	// Standing says how far the files can be trusted.
	Standing trial.Standing    `json:"standing"`
	Verdicts []checker.Verdict `json:"verdicts"`
	// Differ says why exclusion and linearizable can differ, if they do.
	Differ string `json:"differ,omitempty"`
	// Conflict lists the entries that show the most telling finding.
	Conflict []history.Op `json:"conflict"`
	// Lines has the line of the file for each entry of Conflict, of a log without
	// invocations.
	Lines []int `json:"lines,omitempty"`
	// Limits says what such a log cannot show.
	Limits string `json:"limits,omitempty"`
	// Notes list what the history leaves open, and the assumptions made about it.
	Notes []string `json:"notes"`
}

// gravest returns the result that decides the exit code.
func gravest(verdicts []checker.Verdict) checker.Result {
	for _, r := range []checker.Result{checker.Violated, checker.Unknown, checker.Held} {
		if slices.ContainsFunc(verdicts, func(v checker.Verdict) bool { return v.Result == r }) {
			return r
		}
	}
	return checker.Unknown
}

// verdicts prints a table: a row for each finding, undeclared ones first, or the reason why
// there is none.
func (a *app) verdicts(result trial.Result) {
	var rows [][]string
	for _, v := range result.Verdicts {
		if len(v.Findings) == 0 {
			rows = append(rows, []string{v.Oracle, string(v.Result), "", v.Why})
		}
		shown, more := reports.Listed(result, v)
		for _, f := range shown {
			cause := string(f.Cause)
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

// checkExit returns nil if something held and nothing was violated or unknown.
func checkExit(verdicts []checker.Verdict) error {
	switch gravest(verdicts) {
	case checker.Violated:
		return exit(campaign.ExitUnexpected)
	case checker.Unknown:
		return exit(campaign.ExitUnknown)
	}
	return nil
}
