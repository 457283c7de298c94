package jepsen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// brief writes the compared parts of entries: process, client, type, f, lock, mode, lease, value.
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
		"an ok that is none":     {`{:process 0, :type :ok, :f :acquire, :value false}`, "h.edn:1: :value is false; an operation that did not succeed has :type :fail"},
		"time only here":         {good + `{:process 1, :type :invoke, :f :acquire, :index 1}`, "h.edn:2: :time is in some entries only"},
		"index only here":        {good + `{:process 1, :type :invoke, :f :acquire, :time 2}`, "h.edn:2: :index is in some entries only"},
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
		"names of locks or not?": {`{:process 0, :type :invoke, :f :acquire, :value "a"} {:process 1, :type :invoke, :f :acquire, :value "b"}`, "h.edn:1: not all acquires have the same :value (here a), so it may name the lock, or the client or this one acquire: expected values lock or values token"},
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
		notes []string // each is a part of one note
		times []time.Duration
	}{
		"no time, no index": {`[{:process 0, :type :invoke, :f :acquire} {:process 0, :type :ok, :f :acquire}]`,
			[]string{"no :index: they are numbered", "no :time: they keep their order and are placed a millisecond apart"},
			[]time.Duration{0, time.Millisecond}},
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
