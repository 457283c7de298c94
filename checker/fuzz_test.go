package checker

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

// FuzzJudge changes histories at random. No oracle may crash, and sweep and porcupine must
// agree, even about impossible histories.
func FuzzJudge(f *testing.F) {
	for seed := range uint64(6) {
		f.Add(seed, []byte{})
		f.Add(seed, []byte{3, byte(seed), 7, 9, 2, 200, 12, 4, 1, 5, 5, 5})
	}
	f.Fuzz(func(t *testing.T, seed uint64, spoil []byte) {
		e := histories.Random(seed)
		for part := range slices.Chunk(spoil, 3) {
			if len(part) == 3 && len(e.Ops) > 0 {
				spoilOp(&e, int(part[0])%len(e.Ops), part[1], part[2])
			}
		}
		verdicts, err := Judge(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range verdicts {
			if strings.Contains(v.Why, "the oracle crashed") {
				t.Errorf("%s: %s", v.Oracle, v.Why)
			}
			for _, finding := range v.Findings {
				if plain.Summary(finding) == "" || finding.Cause == "" {
					t.Errorf("%s: a finding says nothing: %+v", v.Oracle, finding)
				}
			}
		}
	})
}

func spoilOp(e *history.Evidence, at int, what, value byte) {
	op := &e.Ops[at]
	switch what % 14 {
	case 0:
		op.Time = time.Duration(int8(value))
	case 1:
		op.Type = []history.Type{history.Invoke, history.OK, history.Fail, history.Info, ""}[value%5]
	case 2:
		op.F = []string{history.FAcquire, history.FRelease, history.FExtend, history.FRead, history.FWrite, history.FLost, history.FCrash,
			history.FClock, history.FNodeDown, history.FStall, history.FKeys, history.FSplit, history.FPanic, "", history.FElection}[value%15]
	case 3:
		op.Client = int(int8(value))
	case 4:
		op.Process = history.Process(int8(value))
	case 5:
		op.Lease = &history.Lease{Token: string([]byte{value}), Deadline: time.Duration(int8(value)), Fence: int64(value)}
	case 6:
		op.Lease = nil
	case 7:
		op.Mode = []history.Mode{history.Read, history.Write, "", "x"}[value%4]
	case 8:
		op.Lock = string([]byte{'A' + value%3})
	case 9:
		op.Offset = time.Duration(int8(value))
	case 10:
		op.Window = &history.Window{Fault: "client-pause", ID: int(value)}
	case 11:
		op.Seq, op.Value = int64(int8(value)), []int64{int64(value), 1}[:1+value%2]
		op.F = []string{history.FRead, history.FWrite}[value%2]
	case 12:
		op.Index = int(int8(value))
	case 13:
		e.Ops = slices.Delete(e.Ops, at, at+1)
	}
}
