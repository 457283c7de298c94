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

const holdsCSV = `process,lock,from,to
billing-1,invoices,2026-03-01T10:00:00.000Z,2026-03-01T10:00:04.120Z
billing-2,invoices,2026-03-01T10:00:03.900Z,2026-03-01T10:00:05.000Z
billing-1,reports,2026-03-01T10:00:06.001Z,2026-03-01T10:00:07.500Z
`

const openCSV = `process,lock,from,to,deadline
billing-1,invoices,2026-03-01T10:00:00.123Z,,
billing-2,invoices,2026-03-01T10:00:30.456Z,2026-03-01T10:00:31.456Z,
`

const leasesCSV = `process,lock,from,to,deadline,mode
a,invoices,0.100,,1.100,
b,invoices,1.000,1.500,2.000,
c,reports,1.000,1.500,,read
`

// TestCheckOfLogsOfHolds compares the output of check with golden files. -update-holds
// rewrites these files. One log begins with a byte order mark, as spreadsheets write it.
func TestCheckOfLogsOfHolds(t *testing.T) {
	tests := []struct {
		name, file, text string
		args             []string
		code             int
	}{
		{"holds that overlap", "holds.csv", holdsCSV, []string{"--clock-error", "5ms"}, 1},
		{"holds that overlap by less than the clocks' error", "holds.csv", holdsCSV, []string{"--clock-error", "500ms"}, 2},
		{"holds in turn", "turns.csv", strings.Replace(holdsCSV, "03.900Z", "04.200Z", 1), []string{"--clock-error", "5ms"}, 0},
		{"a hold without an end", "open.csv", openCSV, []string{"--clock-error", "5ms"}, 2},
		{"a hold without an end whose lease overlaps", "leases", leasesCSV, []string{"--clock-error", "0s"}, 2},
		{"a hold without an end whose lease ends in time", "leases", "\ufeff" + strings.Replace(leasesCSV, "1.100", "0.900", 1), []string{"--clock-error", "0s"}, 0},
		{"no hold has an end", "open.csv", strings.Join(strings.Split(openCSV, "\n")[:2], "\n"), []string{"--clock-error", "5ms"}, 2},
		{"one process twice", "twice.csv", "process,lock,from,to\nw,x,0,10\nw,x,5,15\n", []string{"--clock-error", "0s"}, 2},
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

// TestErrorsInFilesNameLineAndMend: an error is one line in our own words. Package applog tests all
// errors in logs of holds.
func TestErrorsInFilesNameLineAndMend(t *testing.T) {
	const good = `{"process":0,"type":"invoke","f":"acquire","client":0,"time":1}` + "\n"
	const oneHold = "process,lock,from,to\na,x,1,2\n"
	tests := []struct {
		name, file, text string
		args             []string
		want             []string
	}{
		{"no clock error", "h.csv", oneHold, nil, []string{"h.csv: ", "expected --clock-error D"}},
		{"clock error of a history", "h.jsonl", good, []string{"--clock-error", "1ms"}, []string{"h.jsonl: --clock-error is for a log of holds (CSV)", "expected none"}},
		{"clock error below zero", "h.csv", oneHold, []string{"--clock-error", "-1ms"}, []string{"--clock-error \"-1ms\": expected a duration"}},
		{"export", "h.csv", oneHold, []string{"--clock-error", "1ms", "--export", "edn"}, []string{"--export edn", "expected a history"}},
		{"no time", "h.csv", "process,lock,from,to\na,x,yesterday,today\n", nil, []string{`h.csv:2: from is "yesterday", expected RFC 3339`}},
		{"semicolons", "h", "process;lock;from;to\na;x;1;2\n", nil, []string{`h:1: column "process;lock;from;to" is unknown: expected a header`, "separated by commas"}},
		{"a log of operations", "h.csv", "time,process,type,f,value\n1,a,invoke,acquire,x\n", nil, []string{`h.csv:1: column "time" is unknown: expected a header that names the columns process, lock, from, to`}},
		{"an empty log", "h.csv", "", nil, []string{"h.csv:1: no holds: expected a header"}},
		{"UTF-16", "h.csv", "\xff\xfep\x00r\x00o\x00c\x00", nil, []string{"h.csv: the file is UTF-16: expected UTF-8"}},
		{"UTF-16 without a mark", "h.jsonl", "\x00{\x00\"\x00c\x00l\x00i\x00e\x00n\x00t\x00\"", nil, []string{"h.jsonl: the file is UTF-16: expected UTF-8"}},
		{"a name for a process", "h.jsonl", strings.Replace(good, `"process":0`, `"process":"a"`, 1), nil, []string{`h.jsonl:1: process is neither a number nor "nemesis": "a"`}},
		{"a name for a client", "h.jsonl", strings.Replace(good, `"client":0`, `"client":"a"`, 1), nil, []string{"h.jsonl:1: client is a string, expected a whole number"}},
		{"a date", "h", "[" + strings.Replace(good, `"time":1`, `"time":"2026-03-01T10:00:00Z"`, 1) + "]", nil, []string{"h:1: entry 1: time is a string, expected a whole number of nanoseconds"}},
		{"a hold in JSON", "h.jsonl", `{"client":1,"lock":"x","from":"2026-03-01T10:00:00Z"}` + "\n", nil, []string{"h.jsonl:1: process is missing"}},
		{"no JSON", "h.jsonl", good + `{"process":0,"type":ok}` + "\n", nil, []string{"h.jsonl:2: expected one JSON object per line: it is no JSON from column 21 on, at \"ok}\""}},
		{"an array", "h.jsonl", good + "[]\n" + good, nil, []string{"h.jsonl:2: expected one JSON object per line, got an array"}},
		{"a wrong kind", "h.jsonl", good + `{"process":0,"type":"ok","f":"acquire","client":0,"time":2,"lease":{"fence":"x"}}` + "\n", nil, []string{"h.jsonl:2: lease.fence is a string, expected a whole number"}},
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
