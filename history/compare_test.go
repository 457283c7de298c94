package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// tokenForms maps the forms of random tokens that libraries use to functions that draw one.
var tokenForms = map[string]func(*rapid.T, string) string{
	"hex": func(t *rapid.T, label string) string { return drawn(t, label, "0123456789abcdef", 32) },
	"uuid": func(t *rapid.T, label string) string {
		return uuid.NewSHA1(uuid.Nil, []byte(drawn(t, label, "0123456789abcdef", 32))).String()
	},
	"base64": func(t *rapid.T, label string) string {
		return drawn(t, label, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 43) + "="
	},
	"base32":  func(t *rapid.T, label string) string { return drawn(t, label, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 26) },
	"decimal": func(t *rapid.T, label string) string { return "4" + drawn(t, label, "0123456789", 18) },
}

// drawn returns a random text that rapid does not simplify, since a simple text would not look
// random.
func drawn(t *rapid.T, label, alphabet string, n int) string {
	seed := rapid.Uint64().Draw(t, label)
	b := make([]byte, n)
	for i := range b {
		seed += 0x9e3779b97f4a7c15
		z := (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		b[i] = alphabet[(z^z>>31)%uint64(len(alphabet))]
	}
	return string(b)
}

// runWith returns a run of a trial with these tokens.
func runWith(tokens []string) Evidence {
	var e Evidence
	for i, token := range tokens {
		at := time.Duration(i+1) * time.Millisecond
		value := Bytes(token + ":7")
		holder := fmt.Sprintf("guid-%s", token)
		e.Ops = append(e.Ops,
			Op{Index: 4 * i, Time: at, Client: i % 2, Type: Invoke, F: FAcquire, Lock: "lock-0"},
			Op{Index: 4*i + 1, Time: at + 50, Client: i % 2, Type: OK, F: FAcquire, Lock: "lock-0", Lease: &Lease{Token: token, Fence: int64(i + 1)}},
			Op{Index: 4*i + 2, Time: at + 60, Client: i % 2, Type: Info, F: FRelease, Lock: "lock-0", Error: "token " + token + " at 0xc000123", Reason: Unknown},
			Op{Index: 4*i + 3, Time: at + 70, Client: NoClient, Process: Nemesis, Type: Info, F: FNodeUp, Node: "n0",
				Lost: &Lost{Durability: EverySec, Writes: 1, Commands: []Bytes{"SET lock-0 " + value}}},
		)
		e.Commands = append(e.Commands,
			Command{Index: 2 * i, Client: i % 2, Node: "n0", Conn: 1, Args: []Bytes{"SET", "lock-0", value, "NX", "PX", "1000"}, Sent: at, Exec: 2*i + 1, Reply: "OK"},
			Command{Index: 2*i + 1, Client: i % 2, Node: "n0", Conn: 1, Args: []Bytes{"EVAL", Bytes("return '" + token + "'"), "0"}, Sent: at + 9, Exec: 2*i + 2,
				Reply: Bytes(fmt.Sprintf("[1 %q]", holder))},
		)
		others := []Field{{Name: Bytes(token), Value: "1"}, {Name: Bytes(tokens[0]), Value: "2"}}
		if others[0].Name > others[1].Name {
			others[0], others[1] = others[1], others[0]
		}
		e.Keys = append(e.Keys, KeyChange{Index: i, Node: "n0", Key: "lock-0", By: ByCommand, Exec: 2*i + 1, From: at, To: at,
			After: &KeyContent{Type: "hash", Fields: others, Expires: at + time.Second}})
	}
	return e
}

// twoDraws draws the tokens of two runs, all in one form.
func twoDraws(t *rapid.T) (first, second []string) {
	form := tokenForms[rapid.SampledFrom([]string{"hex", "uuid", "base64", "base32", "decimal"}).Draw(t, "form")]
	n := rapid.IntRange(2, 5).Draw(t, "tokens")
	seen := map[string]bool{}
	for _, run := range []*[]string{&first, &second} {
		for i := range n {
			token := form(t, fmt.Sprint("token ", i))
			if seen[token] {
				t.Skip("drawn twice")
			}
			seen[token] = true
			*run = append(*run, token)
		}
	}
	return first, second
}

func TestRunsThatDifferInRandomTokensAloneAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := twoDraws(t)
		a, b := runWith(first), runWith(second)
		b.Ops[2].Error = "another text of the library"
		for _, d := range []*Difference{Compare(a, b), Compare(b, a), Compare(a, a)} {
			if d != nil {
				t.Fatalf("got %v", d)
			}
		}
	})
}

// changes maps each kind of real difference to a function that makes it: the function changes an
// entry of the i-th token in one run.
var changes = map[string]func(e *Evidence, i int, tokens []string){
	"a time":           func(e *Evidence, i int, _ []string) { e.Ops[4*i].Time++ },
	"a fence":          func(e *Evidence, i int, _ []string) { e.Ops[4*i+1].Lease.Fence++ },
	"a reason":         func(e *Evidence, i int, _ []string) { e.Ops[4*i+2].Reason = NotHeld },
	"an outcome":       func(e *Evidence, i int, _ []string) { e.Ops[4*i+1].Type = Fail },
	"an owner's token": func(e *Evidence, i int, tokens []string) { e.Ops[4*i+1].Lease.Token = tokens[(i+1)%len(tokens)] },
	"a token in a command": func(e *Evidence, i int, tokens []string) {
		e.Commands[2*i].Args[2] = Bytes(tokens[(i+1)%len(tokens)] + ":7")
	},
	"a token in a script": func(e *Evidence, i int, tokens []string) {
		e.Commands[2*i+1].Args[1] = Bytes("return '" + tokens[(i+1)%len(tokens)] + "'")
	},
	"a count":         func(e *Evidence, i int, tokens []string) { e.Commands[2*i].Args[2] = Bytes(tokens[i] + ":8") },
	"a life":          func(e *Evidence, i int, _ []string) { e.Commands[2*i].Args[5] = "1001" },
	"a long number":   func(e *Evidence, i int, _ []string) { e.Commands[2*i].Args[5] = "987654321012" },
	"a command":       func(e *Evidence, i int, _ []string) { e.Commands[2*i].Args[0] = "SETNX" },
	"a reply":         func(e *Evidence, i int, _ []string) { e.Commands[2*i].Reply = "nil" },
	"an error":        func(e *Evidence, i int, _ []string) { e.Commands[2*i].Reply = "READONLY You can't write" },
	"an order":        func(e *Evidence, i int, _ []string) { e.Commands[2*i].Exec, e.Commands[2*i+1].Exec = 2*i+2, 2*i+1 },
	"a connection":    func(e *Evidence, i int, _ []string) { e.Commands[2*i].Conn = 2 },
	"a key's owner":   func(e *Evidence, i int, tokens []string) { e.Keys[i].After.Fields[0].Name = Bytes(tokens[i] + "x") },
	"a field's value": func(e *Evidence, i int, _ []string) { e.Keys[i].After.Fields[0].Value = "3" },
	"a key's life":    func(e *Evidence, i int, _ []string) { e.Keys[i].After.Expires++ },
	"a loss":          func(e *Evidence, i int, _ []string) { e.Ops[4*i+3].Lost.Scripts = true },
	"a lost token": func(e *Evidence, i int, tokens []string) {
		e.Ops[4*i+3].Lost.Commands[0] = Bytes("SET lock-0 " + tokens[(i+1)%len(tokens)] + ":7")
	},
	"an entry less":  func(e *Evidence, _ int, _ []string) { e.Keys = e.Keys[:len(e.Keys)-1] },
	"a command more": func(e *Evidence, _ int, _ []string) { e.Commands = append(e.Commands, e.Commands[0]) },
}

func TestARealDifferenceIsSeenWhateverTheTokens(t *testing.T) {
	for name, change := range changes {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				first, second := twoDraws(t)
				a, b := runWith(first), runWith(second)
				change(&b, rapid.IntRange(0, len(second)-1).Draw(t, "where"), second)
				if Compare(a, b) == nil || Compare(b, a) == nil {
					t.Fatal("not seen")
				}
			})
		})
	}
}

func TestADifferenceIsNamed(t *testing.T) {
	a, b := runWith([]string{"a", "b"}), runWith([]string{"a", "b"})
	b.Commands[2].Args[5] = "1001"
	want := Difference{Log: "commands", Entry: 2, Field: "args[5]", First: "1000", Second: "1001"}
	if got := Compare(a, b); got == nil || *got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := want.String(); got != `commands, entry 2, args[5]: "1000" and "1001"` {
		t.Errorf("got %s", got)
	}
}

// Words that are not random values (numbers, times, states, errors) must be equal.
func TestWhatIsNoTokenIsNotTakenForOne(t *testing.T) {
	for name, words := range map[string][2]string{
		"counters":             {"17", "18"},
		"milliseconds":         {"1000", "999"},
		"wall milliseconds":    {"946684800123", "946684801987"},
		"wall nanoseconds":     {"946684800123456789", "946685391987654321"},
		"wall microseconds":    {"946684800123456", "946685391987654"},
		"a duration":           {"1.234567891ms", "1.987654321ms"},
		"an instant as text":   {"2000-01-01T00:00:01.123456Z", "2000-01-01T00:00:02.987654Z"},
		"states":               {"available", "reserved"},
		"states with a digit":  {"state-1-available", "state-2-reserved"},
		"errors":               {"NOSCRIPT", "READONLY"},
		"clients":              {"client-0017-a", "client-0018-a"},
		"hexadecimal instants": {"0d23f5a6c3b1e000", "0d23f5a6c3b1f7d0"},
		"an instant in a name": {"c1-946684800123456789", "c1-946685391987654321"},
	} {
		if newComparer().same(words[0], words[1], false) {
			t.Errorf("%s: %q passes for %q", name, words[0], words[1])
		}
	}
}

// A random hexadecimal token may have few letters.
func TestTokensOfFewLettersAreTokens(t *testing.T) {
	for _, words := range [][2]string{
		{"635627621424408873cb614110260156", "93ce3f77622a7665126e52ba94286d3b"},
		{"61220557738027667103346233bacfba", "746242cf43bc970f3ff52edeb4dbdb12"},
		{"lock:61220557738027667103346233ba", "lock:02035577380276671033a6233112"},
		{"61220557738027667103346233013012", "746242cf43bc970f3ff52edeb4dbdb12"},
	} {
		if !newComparer().same(words[0], words[1], false) {
			t.Errorf("%q and %q are taken for a difference", words[0], words[1])
		}
	}
}
