package trial_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

func TestOperationsTellWhatTheirCodeMetWith(t *testing.T) {
	const ms = time.Millisecond
	type op struct {
		f        string
		from, to time.Duration // to 0: it never completed
		done     history.Type
		reason   history.Reason
		deadline time.Duration
		replies  []string // by node; "" = none, "late" = after the operation's end
	}
	for name, c := range map[string]struct {
		ops  []op
		want []string
	}{
		"a prompt grant":            {[]op{{f: "acquire", from: 1 * ms, to: 2 * ms, done: history.OK, replies: []string{"OK"}}}, []string{"acquire ok, yes"}},
		"a late grant":              {[]op{{f: "acquire", from: 1 * ms, to: 40 * ms, done: history.OK, replies: []string{"OK"}}}, []string{"acquire ok, late, yes"}},
		"a grant after its life":    {[]op{{f: "extend", from: 1 * ms, to: 140 * ms, done: history.Info, reason: history.Unknown, deadline: 200 * ms, replies: []string{"1"}}}, []string{"extend info, unknown, over, yes"}},
		"past the deadline":         {[]op{{f: "release", from: 30 * ms, to: 31 * ms, done: history.Fail, reason: history.NotHeld, deadline: 20 * ms, replies: []string{"0"}}}, []string{"release fail, not-held, past, no"}},
		"never completed":           {[]op{{f: "acquire", from: 1 * ms, replies: []string{""}}}, []string{"acquire info, none"}},
		"a reply after the end":     {[]op{{f: "acquire", from: 1 * ms, to: 3 * ms, done: history.Info, reason: history.Unknown, replies: []string{"late"}}}, []string{"acquire info, unknown, none"}},
		"a quorum":                  {[]op{{f: "acquire", from: 1 * ms, to: 3 * ms, done: history.OK, replies: []string{"OK", "OK", "READONLY no"}}}, []string{"acquire ok, most yes, some error"}},
		"three unknown in a row":    {[]op{{f: "release", from: 1 * ms, to: 2 * ms, done: history.Info}, {f: "release", from: 3 * ms, to: 4 * ms, done: history.Info}, {f: "release", from: 5 * ms, to: 6 * ms, done: history.Info}}, []string{"release info", "release info, 2 in a row", "release info, 3 in a row"}},
		"unknown, but not in a row": {[]op{{f: "release", from: 1 * ms, to: 2 * ms, done: history.Info}, {f: "release", from: 3 * ms, to: 4 * ms, done: history.OK}, {f: "release", from: 5 * ms, to: 6 * ms, done: history.Info}}, []string{"release info", "release ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := history.Evidence{Claims: history.Claims{Quorum: 2, TTL: 100 * ms}}
			for _, o := range c.ops {
				invoke := history.Op{Index: len(e.Ops), Time: o.from, Type: history.Invoke, F: o.f, Lock: "l", Lease: &history.Lease{Deadline: o.deadline}}
				e.Ops = append(e.Ops, invoke)
				for n, reply := range o.replies {
					x := history.Command{Op: invoke.Index, N: 1, Node: string(rune('a' + n)), Sent: o.from, Replied: o.from + ms/2, Reply: history.Bytes(reply)}
					switch reply {
					case "":
						x.Replied = 0
					case "late":
						x.Replied = o.to + ms
					}
					e.Commands = append(e.Commands, x)
				}
				if o.to > 0 {
					e.Ops = append(e.Ops, history.Op{Index: len(e.Ops), Time: o.to, Type: o.done, F: o.f, Lock: "l", Reason: o.reason})
				}
			}
			if got := trial.Operations(e); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
