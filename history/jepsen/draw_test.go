package jepsen

import (
	"bytes"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"pgregory.net/rapid"
)

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{:process 0, :type :invoke, :f :acquire, :value nil, :time 1, :index 0}`,
		`[#jepsen.history.Op{:index 0 :process :nemesis :type :info :f :start :value #{"n1"}} #_x {:process 5N :type :ok :f :release :value [1 {:fence 2}]}]`,
		`({:process 0 :type :invoke :f :acquire :value "a"} {:process 0 :type :ok :f :acquire :value {:client "n1" :fence 3}}) ; end`,
		`{:process 0 :client 1 :type :invoke :f :write :value [1 2] :deadline 7 :mode :read :window {:id 1 :opens true}}`,
		`{:process \newline :type "a\u0041" :f #inst "2020" }`,
		`[{"process":0,"time":1,"type":"invoke","f":"acquire"},{"process":0,"time":2,"type":"ok","f":"acquire"}]`,
		`#`, `\`, `"`, `{:process #`, `#a`, `:`, `{:a \`, `[#_`, `{:process +}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, named bool) {
		name := "fuzz"
		if named {
			name = "fuzz.edn"
		}
		r, err := Read(bytes.NewReader(data), name, ValuesLock)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, r.Ops); err != nil {
			t.Fatal(err)
		}
		if len(r.Ops) == 0 {
			return
		}
		if _, err := Read(bytes.NewReader(b.Bytes()), "again.edn", ""); err != nil {
			t.Fatalf("what was read and written is not read again: %v\n%s", err, b.Bytes())
		}
	})
}

// drawWindow draws a window with random fields. Its targets and plan, or its impact, may be missing.
func drawWindow(t *rapid.T, id int, fault string) *history.Window {
	text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9-]{1,8}`), rapid.Just("a \"b\\ <c>\n"))
	number := rapid.IntRange(0, 1<<40)
	at := func(name string) history.Moment {
		return history.Moment{
			Time: time.Duration(number.Draw(t, name)), Client: rapid.IntRange(history.NoClient, 3).Draw(t, "client"), Step: text.Draw(t, "step"),
			N: rapid.IntRange(0, 2).Draw(t, "n"), When: rapid.SampledFrom([]history.When{"", history.Before, history.Sent, history.Replied}).Draw(t, "when"), Key: history.Bytes(rapid.SampledFrom([]string{"", "k", "\xff"}).Draw(t, "key")),
		}
	}
	w := &history.Window{ID: id, Fault: fault, Effect: history.Delayed, Hits: number.Draw(t, "hits")}
	if rapid.Bool().Draw(t, "planned") {
		w.Planned = &history.Timing{At: 5, Point: &history.Trigger{Clients: []int{0, 1}, Step: text.Draw(t, "step")}, Until: &history.Trigger{Who: history.Other}}
		w.Clients, w.Nodes = []int{0, 2}, []string{"n0"}
		w.Links = []history.Link{{From: "c0", To: text.Draw(t, "to"), Direction: history.Upstream, Conn: 2}}
	}
	if rapid.Bool().Draw(t, "struck") {
		until := at("until")
		w.Impact = &history.Impact{
			At: at("at"), Until: &until, Messages: number.Draw(t, "messages"), Holding: rapid.Bool().Draw(t, "holding"),
			Keys: []history.KeyFate{{Node: "n0", Key: "k", Fate: history.FateLost, Spared: true}}, Handover: &history.Handover{From: "n0", To: "n1", How: history.PrimaryKilled, At: 7},
		}
	}
	return w
}
