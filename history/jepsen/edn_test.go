package jepsen

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"pgregory.net/rapid"
)

// brief writes what matters of entries: process, client, type, f, lock, mode, lease, value.
func brief(ops []history.Op) string {
	var b strings.Builder
	for _, op := range ops {
		fmt.Fprintf(&b, "%d/c%d %s %s %s", op.Process, op.Client, op.Type, op.F, op.Lock)
		if op.Mode != "" {
			fmt.Fprintf(&b, " %s", op.Mode)
		}
		if op.Lease != nil {
			fmt.Fprintf(&b, " {%s %d}", op.Lease.Token, op.Lease.Fence)
		}
		if op.Value != nil {
			fmt.Fprintf(&b, " %v", op.Value)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestEveryShapeOfValueSaysWhatItMeans(t *testing.T) {
	tests := map[string]struct {
		in     string
		values Values
		want   string
	}{
		"no value": {`
{:process 0, :type :invoke, :f :acquire, :value nil}
{:process 0, :type :ok, :f :acquire, :value nil}
{:process 0, :type :invoke, :f :release}
{:process 0, :type :ok, :f :release}`, "", `
0/c0 invoke acquire lock
0/c0 ok acquire lock
0/c0 invoke release lock
0/c0 ok release lock`},
		"names that acquires share": {`
{:process 0, :type :invoke, :f :lock, :value "a"}
{:process 0, :type :ok, :f :lock, :value "a"}
{:process 1, :type :invoke, :f :lock, :value "a"}
{:process 1, :type :fail, :f :lock, :value "a"}
{:process 0, :type :invoke, :f :unlock, :value "a"}
{:process 0, :type :ok, :f :unlock, :value "a"}`, "", `
0/c0 invoke acquire a
0/c0 ok acquire a
1/c1 invoke acquire a
1/c1 fail acquire a
0/c0 invoke release a
0/c0 ok release a`},
		"a fence comes back": {`
{:process 0, :type :invoke, :f :acquire, :value nil}
{:process 0, :type :ok, :f :acquire, :value 7}
{:process 0, :type :invoke, :f :write, :value 3}
{:process 0, :type :ok, :f :write, :value 3}
{:process 0, :type :invoke, :f :release, :value 7}
{:process 0, :type :ok, :f :release, :value 7}`, "", `
0/c0 invoke acquire lock
0/c0 ok acquire lock { 7}
0/c0 invoke write lock [3]
0/c0 ok write lock [3]
0/c0 invoke release lock { 7}
0/c0 ok release lock`},
		"a token comes back": {`
{:process 0, :type :invoke, :f :acquire}
{:process 0, :type :ok, :f :acquire, :value "t1"}
{:process 0, :type :invoke, :f :release, :value "t1"}
{:process 0, :type :ok, :f :release, :value "t1"}`, "", `
0/c0 invoke acquire lock
0/c0 ok acquire lock {t1 0}
0/c0 invoke release lock {t1 0}
0/c0 ok release lock`},
		"independent tuples": {`
{:process 0, :type :invoke, :f :acquire, :value [:a nil]}
{:process 0, :type :ok, :f :acquire, :value [:a 7]}
{:process 1, :type :invoke, :f :acquire, :value #jepsen.independent.Tuple [2 nil]}
{:process 1, :type :ok, :f :acquire, :value #jepsen.independent.Tuple{:key 2, :value "t"}}
{:process 0, :type :invoke, :f :read, :value [:a nil]}
{:process 0, :type :ok, :f :read, :value [:a 5]}`, "", `
0/c0 invoke acquire a
0/c0 ok acquire a { 7}
1/c1 invoke acquire 2
1/c1 ok acquire 2 {t 0}
0/c0 invoke read a
0/c0 ok read a [5]`},
		"maps that name the client replace what names the operation": {`
{:process 0, :type :invoke, :f :acquire, :value "6f1a"}
{:process 1, :type :invoke, :f :acquire, :value "77b0"}
{:process 1, :type :ok, :f :acquire, :value {:client "n2", :fence 1, :uid "77b0"}}
{:process 0, :type :fail, :f :acquire, :value "6f1a"}
{:process 1, :type :invoke, :f :release, :value "0c55"}
{:process 1, :type :ok, :f :release, :value {:client "n2", :fence 0, :uid "0c55"}}`, "", `
0/c1 invoke acquire lock
1/c0 invoke acquire lock
1/c0 ok acquire lock { 1}
0/c1 fail acquire lock
1/c0 invoke release lock {0c55 0}
1/c0 ok release lock`},
		"so they do though two operations have the same name": {`
{:process 0, :type :invoke, :f :acquire, :value "retry"}
{:process 0, :type :ok, :f :acquire, :value {:fence 1}}
{:process 1, :type :invoke, :f :acquire, :value "retry"}
{:process 1, :type :ok, :f :acquire, :value {:fence 2}}`, "", `
0/c0 invoke acquire lock
0/c0 ok acquire lock { 1}
1/c1 invoke acquire lock
1/c1 ok acquire lock { 2}`},
		"tokens that are proposed": {`
{:process 0, :type :invoke, :f :acquire, :value "t1"}
{:process 0, :type :ok, :f :acquire, :value "t1"}
{:process 1, :type :invoke, :f :acquire, :value "t2"}
{:process 1, :type :info, :f :acquire, :value "t2", :error :timeout}`, ValuesToken, `
0/c0 invoke acquire lock {t1 0}
0/c0 ok acquire lock {t1 0}
1/c1 invoke acquire lock {t2 0}
1/c1 info acquire lock {t2 0}`},
		"locks that only one acquire names": {`
{:process 0, :type :invoke, :f :acquire, :value :a}
{:process 1, :type :invoke, :f :acquire, :value :b}`, ValuesLock, `
0/c0 invoke acquire a
1/c1 invoke acquire b`},
		"modes": {`
{:process 0, :type :invoke, :f :acquire, :value :read}
{:process 0, :type :ok, :f :acquire, :value :read}
{:process 1, :type :invoke, :f :write-lock}
{:process 1, :type :ok, :f :write-lock}
{:process 2, :type :invoke, :f :acquire, :value [:a :write]}`, "", `
0/c0 invoke acquire lock read
0/c0 ok acquire lock read
1/c1 invoke acquire lock write
1/c1 ok acquire lock write
2/c2 invoke acquire a write`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := Read(strings.NewReader(tt.in), "h.edn", tt.values)
			if err != nil {
				t.Fatal(err)
			}
			if got := brief(r.Ops); got != strings.TrimPrefix(tt.want, "\n")+"\n" {
				t.Errorf("got\n%swant%s", got, tt.want)
			}
		})
	}
}

func TestEveryFormOfAFileIsTheSameHistory(t *testing.T) {
	ops := []string{
		`{:process 0, :type :invoke, :f :acquire, :value nil, :time 5, :index 0}`,
		`{:process :nemesis, :type :info, :f :start-partition, :value #object[clojure.core$fn 0x1f "fn"], :time 6, :index 1}`,
		`{:process 0, :type :ok, :f :acquire, :value nil, :time 7, :index 2}`,
	}
	tag := func(tag string) (tagged []string) {
		for _, op := range ops {
			tagged = append(tagged, tag+op)
		}
		return tagged
	}
	want := "0/c0 invoke acquire lock\n-1/c-1 info start-partition \n0/c0 ok acquire lock\n"
	for name, in := range map[string]string{
		"a map a line":           strings.Join(ops, "\n"),
		"a vector":               "[" + strings.Join(ops, "\n ") + "]\n",
		"a list":                 "; from knossos\n(" + strings.Join(ops, ",\n") + ")",
		"Jepsen's records":       strings.Join(tag("#jepsen.history.Op"), "\n"),
		"Knossos's records":      "[" + strings.Join(tag("#knossos.op.Op "), " ") + "]",
		"values left out":        strings.Join(ops, "\n#_{:process 9 :type :nonsense}\n; a comment {\n"),
		"a byte order mark":      "\ufeff" + strings.Join(ops, "\r\n"),
		"strings for keywords":   strings.NewReplacer(":invoke", `"invoke"`, ":nemesis", `"nemesis"`).Replace(strings.Join(ops, "\n")),
		"times as other numbers": strings.NewReplacer(":time 5", ":time 5N", ":time 7", ":time 7.0").Replace(strings.Join(ops, "\n")),
	} {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{"h.edn", "history"} {
				r, err := Read(strings.NewReader(in), file, "")
				if err != nil {
					t.Fatal(err)
				}
				if got := brief(r.Ops); got != want || len(r.Notes) > 0 {
					t.Errorf("got\n%swant\n%s, notes %q", got, want, r.Notes)
				}
				if r.Ops[0].Time != 5 || r.Ops[2].Time != 7 || r.Ops[2].Index != 2 {
					t.Errorf("got times and indices %+v", r.Ops)
				}
			}
		})
	}
}

func TestWhatIsNoHistoryIsRefusedByLine(t *testing.T) {
	const good = "{:process 0, :type :invoke, :f :acquire, :value nil, :time 1, :index 0}\n"
	tests := map[string]struct{ in, want string }{
		"unknown f":              {good + `{:process 0, :type :ok, :f :cas, :value [1 2], :time 2, :index 1}`, "h.edn:2: :f is :cas, expected one of :acquire, "},
		"unknown type":           {`{:process 0, :type :done, :f :acquire}`, "h.edn:1: :type is :done, expected :invoke, :ok, :fail or :info"},
		"missing type":           {`{:process 0, :f :acquire}`, "h.edn:1: :type is missing"},
		"unknown mode":           {good + `{:process 0, :type :ok, :f :acquire, :mode :rad, :time 2, :index 1}`, "h.edn:2: :mode is :rad, expected :read or :shared, :write or :exclusive"},
		"unknown mode in a map":  {`{:process 0, :type :invoke, :f :acquire, :value {:mode :rad}}`, "h.edn:1: :mode is :rad, expected :read or :shared, :write or :exclusive"},
		"a mode that is no word": {`{:process 0, :type :invoke, :f :acquire, :mode 7}`, "h.edn:1: :mode is 7, expected :read or"},
		"missing process":        {`{:type :ok, :f :acquire}`, "h.edn:1: :process is missing, expected a number or :nemesis"},
		"another process":        {`{:process :bob :type :ok, :f :acquire}`, "h.edn:1: :process is :bob, expected a number or :nemesis"},
		"negative process":       {`{:process -4 :type :ok, :f :acquire}`, "h.edn:1: :process is -4"},
		"a set for a value":      {`{:process 0, :type :ok, :f :acquire, :value #{1 2}}`, "h.edn:1: :value is map[1:true 2:true], expected nil, a lock's name"},
		"a long vector":          {`{:process 0, :type :ok, :f :acquire, :value [1 2 3]}`, "h.edn:1: :value is a vector of 3, expected nil"},
		"an ok that is none":     {`{:process 0, :type :ok, :f :acquire, :value false}`, "h.edn:1: :value is false, expected :type :fail"},
		"time only here":         {good + `{:process 1, :type :invoke, :f :acquire, :index 1}`, "h.edn:2: :time is here or missing"},
		"index only here":        {good + `{:process 1, :type :invoke, :f :acquire, :time 2}`, "h.edn:2: :index is here or missing"},
		"index that stands":      {good + good, "h.edn:2: :index is 0, expected more than 0"},
		"client only here":       {good + `{:process 1, :client 1, :type :invoke, :f :acquire, :time 2, :index 1}`, "h.edn:1: :client is missing"},
		"a number that is none":  {`{:process 0, :type :ok, :f :acquire, :time "now"}`, `h.edn:1: :time is "now", expected a whole number`},
		"completion of nothing":  {good + `{:process 1, :type :ok, :f :acquire, :time 2, :index 1}`, "h.edn:2: entry 1: ok of acquire by process 1 completes no open"},
		"no map":                 {good + "[1 2]\n", "h.edn:2: expected a map, an operation as Jepsen writes it, got [1 2]"},
		"cut short":              {good + `{:process 0, :type`, "h.edn:2: the file ends inside a value"},
		"a bracket too many":     {good + "}\n", `h.edn:2: unexpected "}"`},
		"the wrong bracket":      {good + "{:process [0}\n", `h.edn:2: unexpected "}"`},
		"a key without value":    {good + "{:process 0 :type}\n", "h.edn:2: :type has no value"},
		"two vectors":            {"[" + good + "]\n[]", "h.edn:3: expected nothing after the vector"},
		"nested for ever":        {strings.Repeat("[", 1<<20), "h.edn:1: a value nests deeper"},
		"tagged for ever":        {"{:process " + strings.Repeat("#a ", 1<<20) + "1}", "h.edn:1: a value nests deeper"},
		"discarded for ever":     {strings.Repeat("#_", 1<<20), "h.edn:1: a value nests deeper"},
		"names of locks or not?": {`{:process 0, :type :invoke, :f :acquire, :value "a"} {:process 1, :type :invoke, :f :acquire, :value "b"}`, "h.edn:1: no two clients acquire with the same :value (here a), so it may name the lock, or the client or this one acquire: expected values lock or values token"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tt.in), "h.edn", "")
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q…", err, tt.want)
			}
		})
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	tests := map[string]struct {
		in    string
		notes []string // a part of each
		times []time.Duration
	}{
		"no time, no index": {`[{:process 0, :type :invoke, :f :acquire} {:process 0, :type :ok, :f :acquire}]`,
			[]string{"no :index: they are numbered", "no :time: they are taken in their order, a millisecond apart"},
			[]time.Duration{time.Millisecond, 2 * time.Millisecond}},
		"a time before the one before": {`[{:process 0, :type :invoke, :f :acquire, :time 9, :index 3} {:process 0, :type :ok, :f :acquire, :time 7, :index 8}]`,
			[]string{"1 entries are timed before"}, []time.Duration{9, 10}},
		"no order of touches": {`[{:process 0, :type :invoke, :f :read, :time 1, :index 0} {:process 0, :type :ok, :f :read, :value 1, :time 2, :index 1}]`,
			[]string{"reads and writes have no seq"}, []time.Duration{1, 2}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := Read(strings.NewReader(tt.in), "h.edn", "")
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range tt.notes {
				if len(r.Notes) != len(tt.notes) || !strings.Contains(r.Notes[i], want) {
					t.Errorf("got notes %q, want %q", r.Notes, tt.notes)
				}
			}
			for i, want := range tt.times {
				if r.Ops[i].Time != want {
					t.Errorf("entry %d is at %d, want %d", i, r.Ops[i].Time, want)
				}
			}
		})
	}
}

func TestTheNemesisOfOthersMeansNothingToOracles(t *testing.T) {
	r, err := Read(strings.NewReader(`
{:process :nemesis, :type :invoke, :f :panic, :value {:grudge #{"n1"}}}
{:process :nemesis, :type :info, :f :panic, :value [:boom {"n1" nil}], :error [:x "y"]}
{:process :nemesis, :type :info, :f nil}
{:process :nemesis, :type :info, :f :kill}
{:process :nemesis, :type :info, :f :unasked-election}
{:process :nemesis, :type :info, :f :unseen}`), "h.edn", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"nemesis panic", "nemesis panic", "nemesis", "kill", "nemesis unasked-election", "nemesis unseen"} {
		if op := r.Ops[i]; op.F != want || op.Type != history.Info || op.Client != history.NoClient {
			t.Errorf("got %+v, want an info of %q", op, want)
		}
	}
}

// carried is what EDN carries of an entry.
func carried(op history.Op) history.Op {
	op.Keys = nil
	if op.Lease != nil && *op.Lease == (history.Lease{}) {
		op.Lease = nil
	}
	if len(op.Value) == 0 {
		op.Value = nil
	}
	return op
}

func TestWhatIsWrittenAsEDNIsReadBack(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9-]{1,8}`), rapid.String())
	number := rapid.Int64Range(0, 1<<40)
	rapid.Check(t, func(t *rapid.T) {
		var ops []history.Op
		open := map[history.Process]history.Op{}
		windows := map[int]bool{}
		at := time.Duration(0)
		for i := range rapid.IntRange(0, 12).Draw(t, "entries") {
			at += time.Duration(rapid.IntRange(0, 3).Draw(t, "later"))
			op := history.Op{Index: 2 * i, Time: at, Error: text.Draw(t, "error")}
			if rapid.IntRange(0, 3).Draw(t, "nemesis") == 0 {
				op.Process, op.Type, op.F = history.Nemesis, history.Info, rapid.SampledFrom([]string{history.FCrash, history.FElection}).Draw(t, "event")
				op.Client = rapid.IntRange(history.NoClient, 3).Draw(t, "client")
				op.Node, op.From = text.Draw(t, "node"), text.Draw(t, "from")
				op.Offset = time.Duration(rapid.Int64Range(-5, 5).Draw(t, "offset"))
				op.Lost = rapid.SampledFrom([]*history.Lost{nil, {}, {Durability: history.Volatile, Keys: true, Scripts: true}, {Writes: 2, Commands: []history.Bytes{"SET k \"v\"", "\xff"}}}).Draw(t, "lost")
				if id := rapid.IntRange(-1, 2).Draw(t, "window"); id >= 0 {
					op.F = "delay"
					op.Window = drawWindow(t, id, op.F)
					if windows[id] = !windows[id]; windows[id] {
						op.Type = history.Invoke
					}
				}
				ops = append(ops, op)
				continue
			}
			op.Process = history.Process(rapid.IntRange(0, 3).Draw(t, "process"))
			if was, ok := open[op.Process]; rapid.IntRange(0, 5).Draw(t, "lost lease") == 0 {
				op.F, op.Type, op.Client, op.Lock = history.FLost, history.Info, was.Client, text.Draw(t, "lock")
				op.Mode = rapid.SampledFrom([]history.Mode{"", "read", "write"}).Draw(t, "mode")
			} else if ok {
				op.F, op.Type, op.Client, op.Lock, op.Mode = was.F, rapid.SampledFrom([]history.Type{history.OK, history.Fail, history.Info}).Draw(t, "type"), was.Client, was.Lock, was.Mode
				op.Reason = rapid.SampledFrom([]history.Reason{"", history.Busy, history.NotHeld, history.Unknown}).Draw(t, "reason")
				delete(open, op.Process)
			} else {
				op.F, op.Type, op.Client = rapid.SampledFrom([]string{history.FAcquire, history.FRelease, history.FExtend, history.FRead, history.FWrite}).Draw(t, "f"), history.Invoke, rapid.IntRange(0, 3).Draw(t, "client")
				op.Lock, op.Mode = text.Draw(t, "lock"), rapid.SampledFrom([]history.Mode{"", "read", "write"}).Draw(t, "mode")
				open[op.Process] = op
			}
			if rapid.Bool().Draw(t, "leased") {
				op.Lease = &history.Lease{Token: text.Draw(t, "token"), Fence: number.Draw(t, "fence"), Deadline: time.Duration(number.Draw(t, "deadline"))}
			}
			if op.F == history.FRead || op.F == history.FWrite {
				op.Value, op.Seq = rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "value"), number.Draw(t, "seq")
			}
			ops = append(ops, op)
		}
		var b bytes.Buffer
		if err := Write(&b, ops); err != nil {
			t.Fatal(err)
		}
		r, err := Read(&b, "h.edn", "")
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Ops) != len(ops) {
			t.Fatalf("got %d entries, want %d", len(r.Ops), len(ops))
		}
		for i, op := range ops {
			if got, want := carried(r.Ops[i]), carried(op); !reflect.DeepEqual(got, want) {
				t.Fatalf("got\n%+v, want\n%+v", got, want)
			}
		}
	})
}

// Readers of Jepsen's histories pair the entries of a process in their order: between an
// invocation and its completion there is no other entry of the process.
func TestALossBesideAnOpenOperationIsNoCompletion(t *testing.T) {
	lost := history.Op{Process: 3, Client: 0, Type: history.Info, F: history.FLost, Lock: "a", Lease: &history.Lease{Token: "t"}}
	ops := []history.Op{
		{Process: 3, Client: 0, Type: history.Invoke, F: history.FAcquire, Lock: "b"}, lost,
		{Process: 3, Client: 0, Type: history.OK, F: history.FAcquire, Lock: "b"}, lost,
	}
	for i := range ops {
		ops[i].Index, ops[i].Time = i, time.Duration(i)
	}
	var b bytes.Buffer
	if err := Write(&b, ops); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range []string{
		"{:process 3, :type :invoke, :f :acquire,", "{:process :nemesis, :type :info, :f :lost,",
		"{:process 3, :type :ok, :f :acquire,", "{:process 3, :type :info, :f :lost,",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %s, want it to begin with %s", i+1, lines[i], want)
		}
	}
	r, err := Read(&b, "h.edn", "")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Ops, ops) {
		t.Errorf("got\n%+v, want\n%+v", r.Ops, ops)
	}
	bad := `{:process :nemesis, :type :info, :f :lost, :client 0, :by -1}`
	if _, err := Read(strings.NewReader(bad), "h.edn", ""); err == nil || !strings.Contains(err.Error(), "h.edn:1: :by is -1") {
		t.Errorf("of a negative process: got %v", err)
	}
}
