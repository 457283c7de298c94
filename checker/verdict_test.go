package checker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

func TestOraclesAreNamedAndSaidOnce(t *testing.T) {
	want := []string{"exclusion", "resource", "fencing", "ownership", "liveness", "reentrancy", "extension", "conduct", "draws"}
	var got []string
	for _, o := range Oracles() {
		got = append(got, o.Name)
		if o.Doc == "" || strings.ContainsAny(o.Doc, "|\n") {
			t.Errorf("%s: its doc does not fit into a table: %q", o.Name, o.Doc)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c := Causes(); len(slices.Compact(slices.Sorted(slices.Values(c)))) != len(c) {
		t.Errorf("a cause is there twice: %q", c)
	}
}

func TestACrashingOracleIsUnknown(t *testing.T) {
	bad := Oracle{Name: "bad", judge: func(context.Context, *Case) (Verdict, error) {
		return Verdict{Result: Held, Why: oracles()[len(Causes())].Name}, nil
	}}
	verdicts, err := judge(context.Background(), NewCase(history.Evidence{}), []Oracle{bad})
	if err != nil || len(verdicts) != 1 {
		t.Fatal(verdicts, err)
	}
	if v := verdicts[0]; v.Result != Unknown || v.Oracle != "bad" || !strings.Contains(v.Why, "out of range") {
		t.Errorf("got %+v, want unknown with the reason", v)
	}
}

func TestACancelledContextIsUnknownUnlessTheViolationWasFound(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct{ result, want Result }{{Violated, Violated}, {Held, Unknown}} {
		running, stop := context.WithCancel(context.Background())
		late := Oracle{Name: "late", judge: func(context.Context, *Case) (Verdict, error) {
			stop()
			return Verdict{Result: c.result}, nil
		}}
		if v, _ := late.ask(running, NewCase(history.Evidence{})); v.Result != c.want {
			t.Errorf("%s at the end of the context: got %s, want %s", c.result, v.Result, c.want)
		}
	}
	verdicts, err := Judge(ctx, history.Evidence{Ops: histories.Timeline(t, "c0 acquire 1-2 ok")})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Result != Unknown || v.Why == "" {
			t.Errorf("%s after the context's end: got %s (%s), want unknown", v.Oracle, v.Result, v.Why)
		}
	}
}

func TestAnImpossibleHistoryIsUnknown(t *testing.T) {
	ops := histories.Timeline(t, "c0 acquire 1-2 ok")
	ops[0].Type = history.OK
	verdicts, err := Judge(context.Background(), history.Evidence{Ops: ops, Claims: history.Claims{Reentrant: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Result == Held || v.Result == Violated {
			t.Errorf("%s: got %s", v.Oracle, v.Result)
		}
	}
}
