package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/cmd/lockstorm/check"
	"github.com/lockstorm/lockstorm/history/jepsen"
	"github.com/lockstorm/lockstorm/trial"
)

func sample(name string) string { return filepath.Join("testdata", "jepsen", name) }

// judged returns the output of check --json for a history, and the exit code.
func judged(t *testing.T, args ...string) (checked, int) {
	t.Helper()
	c, code, _ := jsonOf[checked](t, append([]string{"check"}, args...)...)
	return c, code
}

func verdictOf(c checked, oracle string) checker.Verdict {
	i := slices.IndexFunc(c.Verdicts, func(v checker.Verdict) bool { return v.Oracle == oracle })
	return c.Verdicts[i]
}

func TestHistoriesOfOthersAreJudgedByEveryModel(t *testing.T) {
	tests := []struct {
		file, model string
		violated    []string // names of oracles
		conflict    []int    // indices of entries
	}{
		{"mutex-holds.edn", "mutex", nil, nil},
		{"mutex-violated.edn", "mutex", []string{"exclusion", "linearizable"}, []int{0, 1, 6, 7, 8, 10}},
		{"mutex-violated.edn", "owner-aware-mutex", []string{"exclusion", "linearizable"}, []int{0, 1, 6, 7, 8, 10}},
		{"clients.json", "mutex", []string{"exclusion", "linearizable"}, []int{0, 1, 2, 3, 4}},
		{"fenced-holds.edn", "fenced-mutex", nil, nil},
		{"fenced-violated.edn", "fenced-mutex", []string{"fencing", "linearizable"}, nil},
		{"fenced-violated.edn", "owner-aware-mutex", nil, nil},
		{"independent-fenced-holds.edn", "fenced-mutex", nil, nil},
		{"independent-fenced-violated.edn", "fenced-mutex", []string{"fencing", "linearizable"}, nil},
		{"reentrant-holds.edn", "reentrant-mutex", nil, nil},
		{"reentrant-violated.edn", "reentrant-mutex", []string{"exclusion", "reentrancy", "linearizable"}, nil},
		{"reentrant-fenced-holds.edn", "reentrant-fenced-mutex", nil, nil},
		{"reentrant-fenced-violated.edn", "reentrant-fenced-mutex", []string{"fencing", "linearizable"}, nil},
		{"read-write-holds.edn", "read-write", nil, nil},
		{"read-write-holds.edn", "mutex", []string{"exclusion", "linearizable"}, nil},
		{"read-write-violated.edn", "read-write", []string{"exclusion", "linearizable"}, nil},
		{"read-write-unlock.edn", "read-write", nil, nil},
		{"semaphore.edn", "semaphore:2", nil, nil},
		{"semaphore.edn", "semaphore:1", []string{"exclusion", "linearizable"}, nil},
		{"failed-release.edn", "mutex", []string{"linearizable"}, []int{0, 1, 2, 3, 4, 5}},
		{"failed-release.edn", "semaphore:2", nil, nil},
		{"foreign-release.edn", "mutex", []string{"exclusion"}, []int{0, 1, 4, 5}},
		{"foreign-release.edn", "owner-aware-mutex", []string{"exclusion", "linearizable"}, []int{0, 1, 4, 5}},
		{"unknown-release.edn", "owner-aware-mutex", nil, nil},
		{"semaphore.edn", "mutex", []string{"exclusion", "linearizable"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.model, func(t *testing.T) {
			args := []string{sample(tt.file), "--model", tt.model}
			if strings.HasPrefix(tt.file, "fenced-") { // their acquires have tokens as values
				args = append(args, "--values", "token")
			}
			got, code := judged(t, args...)
			var violated []string
			for _, v := range got.Verdicts {
				if v.Result == checker.Violated {
					violated = append(violated, v.Oracle)
				}
			}
			if !slices.Equal(violated, tt.violated) || code != min(len(tt.violated), 1) || got.Model != tt.model {
				t.Errorf("exit code %d, violated %v, want %v: %+v", code, violated, tt.violated, got.Verdicts)
			}
			var conflict []int
			for _, op := range got.Conflict {
				conflict = append(conflict, op.Index)
			}
			if tt.conflict != nil && !slices.Equal(conflict, tt.conflict) || (len(conflict) > 0) != (len(violated) > 0) {
				t.Errorf("the conflict is entries %v, want %v", conflict, tt.conflict)
			}
		})
	}
}

func TestCheckSaysWhyItsTwoReadingsDiffer(t *testing.T) {
	for _, tt := range []struct{ file, model, want string }{
		{"failed-release.edn", "mutex", "exclusion holds and linearizable is violated: "},
		{"foreign-release.edn", "mutex", "exclusion is violated and linearizable holds: "},
		{"foreign-release.edn", "owner-aware-mutex", ""},
		{"mutex-holds.edn", "mutex", ""},
	} {
		c, _ := judged(t, sample(tt.file), "--model", tt.model)
		_, stdout, _ := lockstorm(t, "check", sample(tt.file), "--model", tt.model)
		if !strings.HasPrefix(c.Differ, tt.want) || (c.Differ == "") != (tt.want == "") || !strings.Contains(stdout, "\n"+c.Differ) {
			t.Errorf("%s, %s: got %q, want %q in\n%s", tt.file, tt.model, c.Differ, tt.want, stdout)
		}
	}
}

// Lockstorm's own trial is judged by what clients believed; with --model, also by the model.
func TestATrialIsReadBothWaysIfAModelIsNamed(t *testing.T) {
	path := file(t, "history.jsonl", inTurn)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), trial.SpecFile), []byte(`{"lock":"x","claims":{"lock":"x","quorum":1}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{path}, {path, "--model", "mutex"}} {
		c, _ := judged(t, args...)
		if got := slices.ContainsFunc(c.Verdicts, func(v checker.Verdict) bool { return v.Oracle == checker.LinearizableName }); got != (len(args) > 1) {
			t.Errorf("%q: linearizable is judged: %v", args, got)
		}
	}
}

func TestEveryModelJudgesBothWays(t *testing.T) {
	path := file(t, "history.jsonl", inTurn)
	_, _, help := lockstorm(t, "check", path, "--model", "none")
	fenced := file(t, "fenced.jsonl", strings.ReplaceAll(inTurn, `"type":"ok","f":"acquire"`, `"type":"ok","f":"acquire","lease":{"fence":7}`))
	for _, m := range linear.Models() {
		path := path
		if m.Claims.Fenced {
			path = fenced
		}
		c, _ := judged(t, path, "--model", m.Name)
		if v := verdictOf(c, checker.LinearizableName); v.Result == checker.NotApplicable || !strings.Contains(help, m.Name) {
			t.Errorf("%s: %+v, help %q", m.Name, v, help)
		}
	}
	if !strings.Contains(help, "semaphore:N") {
		t.Errorf("got %q", help)
	}
}

func TestCheckShowsTheConflictInOrderAndInAPicture(t *testing.T) {
	code, stdout, stderr := lockstorm(t, "check", sample("mutex-violated.edn"), "--model", "mutex")
	if code != 1 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{
		`
The entries that show it (exclusion):
 entry  time       who  what                  
──────────────────────────────────────────────
     0  0.011020s  c0   acquire lock: invoke  
     1  0.019303s  c0   acquire lock: ok      
     6  2.050120s  c2   acquire lock: invoke  
     7  2.059330s  c2   acquire lock: ok      
     8  2.100040s  c0   release lock: invoke  
`, `
      0.000000s                                              2.208810s
c0    █████████████████████████████████████████████████████████████···
c1    ·░······························································
c2    ···························································█████
                                                                 ^^ exclusion violated
`,
	} {
		if !strings.Contains(squeezed(stdout), squeezed(want)) {
			t.Errorf("got\n%s, want in it\n%s", stdout, want)
		}
	}
}

// squeezed removes trailing blanks from lines, and horizontal rules from tables.
func squeezed(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "─") {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
	}
	return strings.Join(lines, "\n")
}

func TestWhatAHistoryLeavesOpenIsSaid(t *testing.T) {
	for file, want := range map[string][]string{
		"reentrant-holds.edn": {"entries have no :index", "entries have no :time"},
		"mutex-holds.edn":     {"each process counts as a client of its own"},
		"fenced-holds.edn":    {"c0 is n1, c1 is n2"},
	} {
		c, _ := judged(t, sample(file), "--model", "reentrant-mutex", "--values", "token")
		_, _, stderr := lockstorm(t, "check", sample(file), "--model", "reentrant-mutex", "--values", "token")
		for i, part := range want {
			if len(c.Notes) != len(want) || !strings.Contains(c.Notes[i], part) || !strings.Contains(stderr, part) {
				t.Errorf("%s: notes %q, stderr %q, want %q", file, c.Notes, stderr, want)
			}
		}
	}
	touched := file(t, "h.edn", `
{:process 0, :type :invoke, :f :acquire} {:process 0, :type :ok, :f :acquire}
{:process 0, :type :invoke, :f :write, :value 1} {:process 1, :type :invoke, :f :read, :value nil}
{:process 0, :type :ok, :f :write, :value 1} {:process 1, :type :ok, :f :read, :value 1}`)
	c, code := judged(t, touched, "--model", "mutex")
	if v := verdictOf(c, "resource"); v.Result != checker.NotApplicable || !strings.Contains(v.Why, "in which order") || code != 0 {
		t.Errorf("exit code %d, resource %+v, want not applicable", code, v)
	}
}

// Each process is a client, unless its entries name one.
func TestEntriesNameTheClientsThatAreOne(t *testing.T) {
	path := sample("named-clients.edn")
	if got, code := judged(t, path, "--model", "reentrant-mutex"); code != campaign.ExitUnexpected || !strings.Contains(strings.Join(got.Notes, " "), "each process counts as a client of its own") {
		t.Errorf("exit code %d, notes %q", code, got.Notes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"n1": 0, "n2": 1} {
		stated := strings.NewReplacer(":process 0}", `:process 0, :value {:client "n1"}}`, ":process 1}", `:process 1, :value {:client "`+name+`"}}`).Replace(string(data))
		if got, code := judged(t, file(t, "h.edn", stated), "--model", "reentrant-mutex"); code != want {
			t.Errorf("stated %s: exit code %d, want %d: %+v", name, code, want, got)
		}
	}
}

func TestCheckSaysWhichValuesItReadAsLocks(t *testing.T) {
	c, code := judged(t, sample("values-of-clients.edn"), "--model", "mutex", "--values", "lock")
	if notes := strings.Join(c.Notes, "; "); code != 0 || !strings.Contains(notes, "names of locks: n1, n2") {
		t.Errorf("exit code %d, notes %q", code, notes)
	}
	if c, code := judged(t, sample("values-of-clients.edn"), "--model", "mutex", "--values", "token"); code != 1 {
		t.Errorf("exit code %d, %+v", code, c)
	}
}

func TestCheckTakesTheDirectoryOfAJepsenRun(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(sample("mutex-violated.edn"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "history.edn"), data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c, code := judged(t, dir, "--model", "mutex"); code != 1 || verdictOf(c, "exclusion").Result != checker.Violated {
		t.Errorf("exit code %d, %+v", code, c)
	}
}

func TestCheckRefusesInOneLine(t *testing.T) {
	edn := sample("mutex-holds.edn")
	tests := map[string]struct {
		args []string
		want string
	}{
		"not a lock's history":       {[]string{sample("registers.edn"), "--model", "mutex"}, "registers.edn:3: :f is :cas, expected one of :acquire, "},
		"no model":                   {[]string{edn}, "expected --model mutex, "},
		"values of one client each":  {[]string{sample("values-of-clients.edn"), "--model", "mutex"}, "values-of-clients.edn:2: not all acquires have the same :value (here n1), so it may name the lock, "},
		"no permits":                 {[]string{edn, "--model", "semaphore:0"}, `--model "semaphore:0": expected one of mutex, `},
		"another meaning of values":  {[]string{edn, "--values", "x"}, `--values "x": expected lock or token`},
		"another format":             {[]string{edn, "--export", "xml"}, `--export "xml": expected one of edn, jsonl, knossos`},
		"out without export":         {[]string{edn, "--model", "mutex", "--out", "x"}, "--out x: expected --export"},
		"a picture of an export":     {[]string{edn, "--export", "edn", "--timeline", "x.svg"}, "expected neither --json nor --timeline"},
		"another kind of picture":    {[]string{edn, "--model", "mutex", "--timeline", "x.png"}, "expected a name that ends in .svg or .html"},
		"several locks for Knossos":  {[]string{sample("independent-fenced-holds.edn"), "--export", "knossos"}, "--export knossos: Knossos judges one lock at a time, and this history has 2: [0 1]"},
		"a read-write for Knossos":   {[]string{sample("read-write-holds.edn"), "--model", "read-write", "--export", "knossos"}, "--export knossos: Knossos has a model of a mutex only"},
		"no place for the picture":   {[]string{edn, "--model", "mutex", "--timeline", "/nonexistent/x.html"}, "/nonexistent/x.html"},
		"cut short, without clients": {[]string{file(t, "h.jsonl", `{"time":1,"process":0,"type":"invoke","f":"acquire"}`+"\n{"), "--model", "mutex"}, "expected a whole file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := lockstorm(t, append([]string{"check"}, tt.args...)...)
			if lines := strings.Split(strings.TrimSpace(stderr), "\n"); code != campaign.ExitUsage || stdout != "" || !strings.Contains(lines[len(lines)-1], tt.want) {
				t.Errorf("exit code %d, stdout %q, stderr %q, want %q", code, stdout, stderr, tt.want)
			}
		})
	}
}

func TestTimelinesAreDrawn(t *testing.T) {
	for _, tt := range []struct{ file, name, want, said string }{
		{"mutex-violated.edn", "x.svg", "<svg", ""},
		{"mutex-violated.edn", "x.html", "<html", ""},
		{"mutex-holds.edn", "x.html", "<html", ""},
		{"failed-release.edn", "x.svg", "<svg", ""},
		{"mutex-holds.edn", "x.svg", "", "nothing is violated"},
	} {
		path := filepath.Join(t.TempDir(), tt.name)
		_, _, stderr := lockstorm(t, "check", sample(tt.file), "--model", "mutex", "--timeline", path)
		data, err := os.ReadFile(path)
		if (err != nil) != (tt.want == "") || !strings.Contains(string(data), tt.want) || !strings.Contains(stderr, tt.said) {
			t.Errorf("%s to %s: %v, %d bytes, stderr %q", tt.file, tt.name, err, len(data), stderr)
		}
	}
}

// The verdict on exclusion is the same for a trial and for its exports.
func TestATrialExportedAndReadAgainIsJudgedAlike(t *testing.T) {
	seen := map[checker.Result]bool{}
	for _, trial := range []struct{ lock, fault, model string }{
		{"setnx-expire", "client-pause", "mutex"},
		{"set-nx-px", "client-crash", "mutex"},
		{"redlock", "client-skew", "mutex"},
		{"redlock", "none", "mutex"},
		{"reentrant-local", "client-pause", "reentrant-mutex"},
		{"rw-hash", "none", "read-write"},
	} {
		t.Run(trial.lock+" "+trial.fault, func(t *testing.T) {
			dir := t.TempDir()
			if code, _, stderr := lockstorm(t, "replay", "--lock", trial.lock, "--fault", trial.fault, "--out", dir); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			direct, _ := judged(t, dir)
			want := verdictOf(direct, "exclusion")
			seen[want.Result] = true
			for _, format := range check.ExportNames() {
				if format == "knossos" && trial.model == "read-write" {
					continue
				}
				path := filepath.Join(t.TempDir(), "h."+strings.Replace(format, "knossos", "edn", 1))
				if code, _, stderr := lockstorm(t, "check", dir, "--export", format, "--out", path); code != 0 || stderr != "" {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				again, _ := judged(t, path, "--model", trial.model)
				got := verdictOf(again, "exclusion")
				if format == "knossos" { // knossos omits operations that are not about holds, so indices of entries differ
					if got.Result != want.Result || len(got.Findings) != len(want.Findings) {
						t.Errorf("as %s: %s with %d findings, want %s with %d", format, got.Result, len(got.Findings), want.Result, len(want.Findings))
					}
					continue
				}
				if !reflect.DeepEqual(places(got), places(want)) || len(again.Notes) > 0 {
					t.Errorf("as %s: got %+v, notes %q, want %+v", format, got, again.Notes, want)
				}
			}
		})
	}
	if !seen[checker.Violated] || !seen[checker.Held] {
		t.Errorf("the trials give only %v", seen)
	}
}

// places returns a verdict without its causes, because an export lacks the commands that tell
// causes.
func places(v checker.Verdict) any {
	type place struct {
		lock    string
		clients []int
		from    int64
		ops     []int
	}
	all := []any{v.Result}
	for _, f := range v.Findings {
		all = append(all, place{f.Lock, f.Clients, int64(f.From), f.Ops})
	}
	return all
}

func TestExportToJepsenIsWhatJepsenWrites(t *testing.T) {
	path := file(t, "history.jsonl", both)
	code, stdout, stderr := lockstorm(t, "check", path, "--export", "edn")
	const want = `{:process 0, :type :invoke, :f :acquire, :value nil, :time 10000000, :index 0, :client 0, :lock "a"}` + "\n"
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, want) || strings.Count(stdout, "\n") != 8 {
		t.Errorf("exit code %d, stderr %q, got\n%swant first\n%s", code, stderr, stdout, want)
	}
	r, err := jepsen.Read(strings.NewReader(stdout), "h.edn", "")
	if err != nil || len(r.Ops) != 8 {
		t.Errorf("got %d entries, %v", len(r.Ops), err)
	}
}
