package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
)

var updateGolden = flag.Bool("update-holds", false, "write the golden files of logs of holds anew")

const holdsCSV = `client,lock,from,to
billing-1,invoices,2026-03-01T10:00:00.000Z,2026-03-01T10:00:04.120Z
billing-2,invoices,2026-03-01T10:00:03.900Z,2026-03-01T10:00:05.000Z
billing-1,reports,2026-03-01T10:00:06.001Z,2026-03-01T10:00:07.500Z
`

const openJSONL = `{"client":"billing-1","lock":"invoices","from":"2026-03-01T10:00:00.123Z","to":null}
{"client":"billing-2","lock":"invoices","from":"2026-03-01T10:00:30.456Z","to":"2026-03-01T10:00:31.456Z"}
`

const successesJSONL = `{"time":"2026-03-01T10:00:00.100Z","client":"billing-1","event":"acquired","lock":"invoices"}
{"time":"2026-03-01T10:00:01.300Z","client":"billing-2","event":"acquired","lock":"invoices"}
{"time":"2026-03-01T10:00:02.200Z","client":"billing-1","event":"released","lock":"invoices"}
{"time":"2026-03-01T10:00:03.100Z","client":"billing-2","event":"released","lock":"invoices"}
`

const historyCSV = `time,process,type,f,value
2026-03-01T10:00:00.1Z,billing-1,invoke,acquire,invoices
2026-03-01T10:00:00.2Z,billing-1,ok,acquire,invoices
2026-03-01T10:00:00.3Z,billing-2,invoke,acquire,invoices
2026-03-01T10:00:00.4Z,billing-2,ok,acquire,invoices
`

// TestCheckOfApplicationsLogs compares the output of check with golden files. -update-holds
// rewrites these files.
func TestCheckOfApplicationsLogs(t *testing.T) {
	tests := []struct {
		name, file, text string
		args             []string
		code             int
	}{
		{"holds that overlap", "holds.csv", holdsCSV, []string{"--clock-error", "5ms"}, 1},
		{"holds that overlap by less than the clocks' error", "holds.csv", holdsCSV, []string{"--clock-error", "500ms"}, 2},
		{"holds in turn", "turns.csv", strings.Replace(holdsCSV, "03.900Z", "04.200Z", 1), []string{"--clock-error", "5ms"}, 0},
		{"a hold without an end", "open.jsonl", openJSONL, []string{"--clock-error", "5ms"}, 2},
		{"a hold without an end, held", "open.jsonl", openJSONL, []string{"--clock-error", "5ms", "--unended", "held"}, 1},
		{"successes", "successes.jsonl", successesJSONL, []string{"--clock-error", "5ms"}, 2},
		{"successes whose releases were quick", "successes.jsonl", successesJSONL, []string{"--clock-error", "5ms", "--release-takes", "50ms"}, 1},
		{"no hold has an end", "open.jsonl", strings.Split(openJSONL, "\n")[0], []string{"--clock-error", "5ms"}, 2},
		{"a history", "history.csv", historyCSV, nil, 1},
		{"one client twice", "twice.csv", "client,from_ms,to_ms\nw,0,10\nw,5,15\n", []string{"--clock-error", "0s"}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := file(t, test.file, test.text)
			code, stdout, stderr := lockstorm(t, append([]string{"check", path, "--model", "mutex"}, test.args...)...)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			got := strings.ReplaceAll(fmt.Sprintf("%s\n-- stderr --\n%s", stdout, stderr), filepath.Dir(path)+string(filepath.Separator), "")
			golden := filepath.Join("testdata", "holds", strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(test.name)+".txt")
			if *updateGolden {
				if err := os.MkdirAll(filepath.Dir(golden), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s: got\n%s\nwant\n%s", golden, got, want)
			}
		})
	}
}

// If both flags that a log of holds needs are missing, one error asks for both.
func TestALogAsksForAllItLacksInOneLine(t *testing.T) {
	code, stdout, stderr := lockstorm(t, "check", file(t, "h.csv", holdsCSV))
	if code != campaign.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 ||
		!strings.Contains(stderr, "expected --clock-error D, ") || !strings.Contains(stderr, ", and --model mutex") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestErrorsInLogsNameLineFieldAndMend: an error is one line in our own words.
func TestErrorsInLogsNameLineFieldAndMend(t *testing.T) {
	good := `{"process":0,"type":"invoke","f":"acquire","client":0,"time":1}` + "\n"
	tests := []struct {
		name, file, text string
		args             []string
		want             []string
	}{
		{"no clock error", "h.csv", holdsCSV, nil, []string{"h.csv: ", "expected --clock-error D"}},
		{"clock error of a history", "h.csv", historyCSV, []string{"--clock-error", "1ms"}, []string{"h.csv: ", "expected none of them"}},
		{"clock error below zero", "h.csv", holdsCSV, []string{"--clock-error", "-1ms"}, []string{"--clock-error \"-1ms\": expected a duration"}},
		{"unended", "h.csv", holdsCSV, []string{"--clock-error", "1ms", "--unended", "yes"}, []string{`--unended "yes"`, "expected held or unknown"}},
		{"export", "h.csv", holdsCSV, []string{"--clock-error", "1ms", "--export", "edn"}, []string{"--export edn", "expected a history"}},
		{"no zone", "h.csv", "client,from,to\na,2026-03-01 10:00:00,2026-03-01 10:00:01\n", nil, []string{"h.csv:2: from is", "without a zone", "expected RFC 3339 such as 2026-01-02T"}},
		{"no date", "h.csv", "client,from,to\na,yesterday,today\n", nil, []string{`h.csv:2: from is "yesterday"`, "expected RFC 3339"}},
		{"no unit", "h.csv", "client,from,to\na,1,2\n", nil, []string{"h.csv:2: from is 1, a number without a unit", "from_ms"}},
		{"too far", "h.csv", "client,from_s,to_s\na,1,99999999999999\n", nil, []string{"h.csv:2: to is 99999999999999 s", "expected at most"}},
		{"ends before it begins", "h.csv", "client,from_ms,to_ms\na,2,1\n", nil, []string{"h.csv:2: to is 1, before from, 2"}},
		{"dates and numbers", "h.csv", "client,from,to\na,2026-03-01T10:00:00Z,5s\n", nil, []string{"h.csv:2: to is 5s, but an earlier line has 2026-03-01T10:00:00Z"}},
		{"no client", "h.csv", "client,from_ms,to_ms\n,1,2\n", nil, []string{"h.csv:2: client is missing: expected who"}},
		{"lock here and missing there", "h.csv", "client,lock,from_ms,to_ms\na,x,1,2\nb,,3,4\n", nil, []string{"h.csv:3: lock is missing: expected it in every line or in none"}},
		{"a value too many", "h.csv", "client,from_ms,to_ms\na,1,2,3\n", nil, []string{"h.csv:2: 4 values, expected 3"}},
		{"no header", "h.csv", "a,1,2\n", nil, []string{"h.csv:1: expected a header"}},
		{"semicolons", "h.csv", "client;lock;from;to\na;x;1s;2s\n", nil, []string{"h.csv:1: expected a header that names the columns, such as client,lock,from,to, separated by commas (in a .tsv file: by tabs); the file's columns are separated by ;"}},
		{"tabs in CSV", "h.csv", "client\tlock\tfrom\tto\n", nil, []string{"h.csv:1: expected a header", "the file's columns are separated by tabs"}},
		{"commas in TSV", "h.tsv", "client,lock,from,to\n", nil, []string{"h.tsv:1: expected a header", "the file's columns are separated by commas"}},
		{"UTF-16", "h.csv", "\xff\xfec\x00l\x00i\x00e\x00n\x00t\x00", nil, []string{"h.csv: the file is UTF-16: expected UTF-8"}},
		{"UTF-16 without a mark", "h.jsonl", "\x00{\x00\"\x00c\x00l\x00i\x00e\x00n\x00t\x00\"", nil, []string{"h.jsonl: the file is UTF-16: expected UTF-8"}},
		{"another word for the end", "h.csv", "client,lock,from_ms,until_ms\na,x,1,2\n", nil, []string{"h.csv:2: until_ms is an unknown field: expected to (the time when the hold ended) or deadline"}},
		{"another word in JSON", "h.jsonl", `{"client":"a","lock":"x","from_ms":1,"Until":"2ms"}` + "\n", nil, []string{"h.jsonl:1: Until is an unknown field: expected to (the time when the hold ended) or deadline"}},
		{"a bare quote", "h.csv", "client,from_ms,to_ms\na\"b,1,2\n", nil, []string{"h.csv:2: a quote inside a value"}},
		{"two columns for one", "h.csv", "client,owner,from_ms\na,b,1\n", nil, []string{"h.csv:2: owner is a second client"}},
		{"nothing", "h.csv", "client,from,to\n", nil, []string{"h.csv: no records"}},
		{"neither", "h.csv", "client,lock\na,b\n", nil, []string{"h.csv:2: expected client, lock, from and to"}},
		{"misspelt", "h.jsonl", `{"process":0,"tipe":"invoke","f":"acquire","time":1}` + "\n", nil, []string{"h.jsonl:1: tipe is an unknown field: expected type"}},
		{"a word for an operation", "h.csv", "client,f,time_ms\na,grab,1\n", nil, []string{`h.csv:2: f is "grab", expected one of acquire`}},
		{"a word for a type", "h.csv", "client,f,type,time_ms\na,acquire,invoke,1\na,acquire,yes,1\n", nil, []string{`h.csv:3: type is "yes", expected one of busy`}},
		{"a fence", "h.csv", "process,f,type,time_ms,fence\n1,acquire,invoke,1,x\n", nil, []string{`h.csv:2: fence is "x", expected a whole number`}},
		{"time goes back", "h.csv", "process,f,type,time_ms\n1,acquire,invoke,2\n1,acquire,ok,1\n", nil, []string{"h.csv:3: time "}},
		{"a completion of nothing", "h.csv", "process,f,type,time_ms\n1,acquire,invoke,1\n2,acquire,ok,2\n", nil, []string{"h.csv:3: ", "completes no open invocation"}},
		{"the nemesis's clock", "h.csv", "process,f,type,time_ms,client\n1,acquire,invoke,1,1\nnemesis,clock,info,1,1\n", nil, []string{"h.csv:3: f of the nemesis is \"clock\", expected one of crash"}},
		{"no JSON", "h.jsonl", good + `{"process":0,"type":ok}` + "\n", nil, []string{"h.jsonl:2: expected one JSON object per line: it is no JSON from column 21 on, at \"ok}\""}},
		{"an array", "h.jsonl", good + "[]\n" + good, nil, []string{"h.jsonl:2: expected one JSON object per line, got an array"}},
		{"an object as a name", "h.jsonl", `{"client":{},"from_ms":1}` + "\n", nil, []string{"h.jsonl:1: client is {}, expected a word or a number"}},
		{"a wrong kind", "h.jsonl", good + `{"process":0,"type":"ok","f":"acquire","client":0,"time":2,"lease":{"fence":"x"}}` + "\n", nil, []string{`h.jsonl:2: fence is "x", expected a whole number`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := file(t, test.file, test.text)
			code, stdout, stderr := lockstorm(t, append([]string{"check", path, "--model", "mutex"}, test.args...)...)
			if code != 254 || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout %q, stderr %q; want 254 and one line", code, stdout, stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q, want %q in it", stderr, want)
				}
			}
			for _, foreign := range []string{"json:", "Go struct", "strconv", "parsing time", "bare \"", "invalid character"} {
				if strings.Contains(stderr, foreign) {
					t.Errorf("stderr %q has Go's words, %q", stderr, foreign)
				}
			}
		})
	}
}
