package history

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAWindowsTargetNamesWhatItStrikes(t *testing.T) {
	for want, w := range map[string]Window{
		"":                  {},
		"c0 c2 n1":          {Clients: []int{0, 2}, Nodes: []string{"n1"}},
		"c0→n0 c0←n1 n1↔n0": {Links: []Link{{From: "c0", To: "n0", Direction: Upstream}, {From: "c0", To: "n1", Direction: Downstream}, {From: "n1", To: "n0"}}},
	} {
		if got := w.Target(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestALinksClientIsItsFirstEnd(t *testing.T) {
	for from, want := range map[string]int{"c0": 0, "c12": 12, "n1": -1, "s0": -1, "c": -1, "": -1} {
		got, ok := Link{From: from, To: "n0"}.Client()
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: got %d, %v, want %d", from, got, ok, want)
		}
	}
}

func TestWhatWasLostIsNamed(t *testing.T) {
	for _, c := range []struct {
		lost *Lost
		want string
		data bool
	}{
		{nil, "", false},
		{&Lost{}, "", false},
		{&Lost{Durability: Always, Scripts: true}, "its script cache", false},
		{&Lost{Durability: EverySec, Scripts: true}, "its script cache", false},
		{&Lost{Keys: true, Scripts: true}, "all keys and its script cache", true},
		{&Lost{Writes: 1}, "1 write of the last second", true},
		{&Lost{Writes: 2, Scripts: true, Commands: []Bytes{"SET a b", "DEL c"}}, "2 writes of the last second and its script cache (SET a b, DEL c)", true},
	} {
		if got := c.lost.String(); got != c.want || c.lost.Data() != c.data {
			t.Errorf("%+v: got %q, %v, want %q, %v", c.lost, got, c.lost.Data(), c.want, c.data)
		}
	}
}

func TestAWindowInProseIsRefused(t *testing.T) {
	const line = `{"index":0,"time":1,"process":"nemesis","client":0,"type":"invoke","f":"delay","window":{"fault":"delay","id":1,"target":"c0→n0","planned":"for 1s","hits":0}}` + "\n"
	if _, _, err := ReadOps(strings.NewReader(line), "history.jsonl"); err == nil || !strings.Contains(err.Error(), "an earlier version wrote this history") {
		t.Errorf("got %v, want an error that says who wrote it", err)
	}
	const edn = `{:process :nemesis, :client 0, :type :info, :f :delay, :time 1, :index 0, :opens true, :window {:id 1, :fault "delay", :planned "for 1s"}}` + "\n"
	if _, err := ReadAny(strings.NewReader(edn), "history.edn", ""); err == nil || !strings.Contains(err.Error(), "an earlier version wrote this history") {
		t.Errorf("got %v, want an error that says who wrote it", err)
	}
}

// drawWindow is a window with facts of all kinds.
func drawWindow(t *rapid.T, id int, fault string) *Window {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9-]{1,8}`), rapid.Just("a \"b\\ <c>\n"))
	number := rapid.IntRange(0, 1<<40)
	at := func(name string) Place {
		return Place{
			Time: time.Duration(number.Draw(t, name)), Client: rapid.IntRange(NoClient, 3).Draw(t, "client"), Step: text.Draw(t, "step"),
			N: rapid.IntRange(0, 2).Draw(t, "n"), When: rapid.SampledFrom([]When{"", Before, Sent, Replied}).Draw(t, "when"), Key: Bytes(rapid.SampledFrom([]string{"", "k", "\xff"}).Draw(t, "key")),
		}
	}
	w := &Window{ID: id, Fault: fault, Effect: Delayed, Hits: number.Draw(t, "hits")}
	if rapid.Bool().Draw(t, "planned") {
		w.Planned = &Timing{At: 5, Point: &Trigger{Clients: []int{0, 1}, Step: text.Draw(t, "step")}, Until: &Trigger{Who: Other}}
		w.Clients, w.Nodes = []int{0, 2}, []string{"n0"}
		w.Links = []Link{{From: "c0", To: text.Draw(t, "to"), Direction: Upstream, Conn: 2}}
	}
	if rapid.Bool().Draw(t, "struck") {
		until := at("until")
		w.Impact = &Impact{
			At: at("at"), Until: &until, Messages: number.Draw(t, "messages"), Holding: rapid.Bool().Draw(t, "holding"),
			Keys: []KeyFate{{Node: "n0", Key: "k", Fate: FateLost, Spared: true}}, Handover: &Handover{From: "n0", To: "n1", How: PrimaryKilled, At: 7},
		}
	}
	return w
}
