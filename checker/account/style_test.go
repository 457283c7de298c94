package account

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

func ms(at int) time.Duration { return time.Duration(at) * time.Millisecond }

var update = flag.Bool("update", false, "write the sentences in testdata anew")

// everything returns an account of this kind in which all parts are set.
func everything(what What) Account {
	return Account{
		Fact: Fact{
			What: what, Clients: []int{1, 0, 2}, Nodes: []string{"n0", "n1", "n2", "n3"}, Key: "lock",
			Command: &Call{Client: 1, Node: "n0", Name: "DEL", Sent: ms(4), Arrived: ms(5), Ran: ms(6), Replied: ms(7), Reply: "1"},
			At:      ms(10), Since: ms(11), Until: ms(12), Read: ms(13), Span: ms(100), Age: ms(200), Offset: -ms(300),
			Count: 2, Of: 3, Values: []int64{4, 5}, Late: true, Ended: WasExpired, Lost: &history.Lost{Keys: true},
			Fault: "delay", Link: &history.Link{From: "c1", To: "n0"}, Model: "mutex", Text: "boom", Locks: []string{"L"},
			Example: "race",
		},
		Holds: []Believed{
			{Client: 1, Mode: history.Write, From: ms(20), Until: ms(21), Why: ByRelease},
			{Client: 0, Mode: history.Read, From: ms(22), Until: ms(23), Why: ByDeadline},
			{Client: 2, From: ms(24), Why: ByNothing},
		},
		Operations: []Operation{
			{Client: 1, F: history.FWrite, From: ms(30), To: ms(31), Type: history.OK},
			{Client: 0, F: history.FAcquire, Fence: 6, From: ms(32), To: ms(33), Type: history.Info},
			{Client: 0, F: history.FRelease, From: ms(34)},
		},
	}
}

// sentencesFile has the sentence of each kind of fact for an account in which all parts are set.
const sentencesFile = "testdata/words.txt"

func TestEveryFactHasItsSentence(t *testing.T) {
	var all strings.Builder
	for _, what := range slices.Sorted(maps.Keys(words)) {
		all.WriteString(string(what) + ": " + Plain.What(everything(what), "L") + "\n")
	}
	for _, p := range slices.Sorted(maps.Keys(premiseWords)) {
		all.WriteString(string(p) + ": " + Plain.Broken(&Assumption{p, everything(HasCrashed).Fact}) + "\n")
	}
	if *update {
		if err := os.WriteFile(sentencesFile, []byte(all.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(sentencesFile)
	if err != nil {
		t.Fatalf("%v (go test ./checker/account -run Sentence -update writes it)", err)
	}
	wanted := strings.Split(string(want), "\n")
	for i, line := range strings.Split(all.String(), "\n") {
		if i >= len(wanted) || line != wanted[i] {
			t.Fatalf("line %d: got %s (go test ./checker/account -run Sentence -update, and git diff)", i+1, line)
		}
	}
}

func TestSentencesLeaveOpenOnlyWhatIsFilledIn(t *testing.T) {
	blank := regexp.MustCompile(`\{([^}]*)\}`)
	used := map[string]bool{}
	for what, sentence := range words {
		for _, m := range blank.FindAllStringSubmatch(sentence, -1) {
			if used[m[1]] = true; blanks[m[1]] == nil {
				t.Errorf("%s: nothing fills in {%s}", what, m[1])
			}
		}
	}
	for name := range blanks {
		if !used[name] {
			t.Errorf("no sentence leaves {%s} open", name)
		}
	}
}

func TestADamagedAccountIsToldAllTheSame(t *testing.T) {
	for what, sentence := range words {
		if Plain.Say(Fact{What: what}) == "" && sentence != "{said}" { // the sentence {said} consists only of Fact.Text
			t.Errorf("%s: nothing is told", what)
		}
	}
}

func TestAccountsAreStoredWhole(t *testing.T) {
	given := everything(Overlap)
	given.Reasons = []Fact{everything(Expired).Fact}
	given.Broken = &Assumption{InTime, everything(ArrivedLate).Fact}
	given.Grants = []Granted{{Client: 1, Node: "n0", Key: "lock", At: ms(1), Until: ms(2), Ended: WasLost}}
	stored, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	var got Account
	if err := json.Unmarshal(stored, &got); err != nil || !reflect.DeepEqual(got, given) {
		t.Errorf("got %+v, %v, want %+v", got, err, given)
	}
}
