package histories

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Timeline parses a history from text with one operation or event on each line, times in
// milliseconds:
//
//	c0 acquire 10-12 ok token=a deadline=50   an operation of client 0
//	c1 release 20-                            an operation that never completed
//	c0 lost 30                                an event of client 0
//	nemesis crash c0 40                       an event of the nemesis
//	nemesis window client-pause 10-90         a fault window
//
// Keys are lock (by default "L"), mode, token, deadline, fence, seq, value, offset, reason, and hits (of
// a fault window). Entries with equal times keep the order of the text. After an info, a client continues
// as a new process.
func Timeline(t testing.TB, text string) []history.Op {
	t.Helper()
	var entries []entryAt
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			entries = append(entries, entriesOf(t, line, len(entries))...)
		}
	}
	slices.SortStableFunc(entries, func(a, b entryAt) int { return cmp.Compare(a.op.Time, b.op.Time) })
	process, open := map[int]history.Process{}, map[int]history.Process{}
	ops := make([]history.Op, len(entries))
	for i, e := range entries {
		op := e.op
		op.Index = i
		if op.Process != history.Nemesis {
			if _, ok := process[op.Client]; !ok {
				process[op.Client] = history.Process(op.Client)
			}
			switch {
			case op.Type == history.Invoke:
				open[e.line] = process[op.Client]
				op.Process = open[e.line]
			case op.F == history.FLost:
				op.Process = process[op.Client]
			default:
				op.Process = open[e.line]
				if op.Type == history.Info {
					process[op.Client] += 100
				}
			}
		}
		ops[i] = op
	}
	return ops
}

type entryAt struct {
	op   history.Op
	line int // number of the line; equal for both entries of an operation
}

func entriesOf(t testing.TB, line string, number int) []entryAt {
	t.Helper()
	words := strings.Fields(line)
	op := history.Op{Client: history.NoClient, Process: history.Nemesis, Type: history.Info}
	number *= 2
	if words[0] != "nemesis" {
		op.Client, op.Process = atoi(t, strings.TrimPrefix(words[0], "c")), 0
		op.Lock = "L"
	}
	op.F = words[1]
	words = words[2:]
	if op.F == "window" {
		op.F, op.Window = words[0], &history.Window{Fault: words[0], ID: number}
		words = words[1:]
	}
	if op.Process == history.Nemesis && len(words[0]) == 2 && words[0][0] == 'c' {
		op.Client, words = atoi(t, words[0][1:]), words[1:]
	}
	from, to, spans := strings.Cut(words[0], "-")
	op.Time = millis(t, from)
	done := history.Info
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			setKey(t, &op, k, v)
		} else {
			done = history.Type(w)
		}
	}
	if !spans {
		return []entryAt{{op, number}}
	}
	invoke := op
	invoke.Type, invoke.Reason, invoke.Seq = history.Invoke, "", 0
	if op.F == history.FAcquire {
		invoke.Lease = nil
	}
	if to == "" {
		return []entryAt{{invoke, number}}
	}
	op.Type, op.Time = done, millis(t, to)
	return []entryAt{{invoke, number}, {op, number}}
}

func setKey(t testing.TB, op *history.Op, k, v string) {
	t.Helper()
	lease := func() *history.Lease {
		if op.Lease == nil {
			op.Lease = &history.Lease{}
		}
		return op.Lease
	}
	switch k {
	case "lock":
		op.Lock = v
	case "mode":
		op.Mode = history.Mode(v)
	case "reason":
		op.Reason = history.Reason(v)
	case "token":
		lease().Token = v
	case "deadline":
		lease().Deadline = millis(t, v)
	case "fence":
		lease().Fence = int64(atoi(t, v))
	case "offset":
		op.Offset = millis(t, v)
	case "seq":
		op.Seq = int64(atoi(t, v))
	case "hits":
		if op.Window == nil {
			t.Fatalf("%s: only a fault window has hits", k)
		}
		op.Window.Hits = atoi(t, v)
	case "value":
		for _, s := range strings.Split(v, ",") {
			op.Value = append(op.Value, int64(atoi(t, s)))
		}
	default:
		t.Fatalf("no such key: %s", k)
	}
}

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func millis(t testing.TB, s string) time.Duration {
	t.Helper()
	return time.Duration(atoi(t, s)) * time.Millisecond
}
