package story

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

func TestEveryEventIsTold(t *testing.T) {
	for _, k := range history.EventKinds() {
		if k.F == history.FUnseen {
			continue // the verdicts report it
		}
		op := history.Op{
			Process: history.Nemesis, Type: history.Info, F: k.F, Client: 1, Node: "n2", From: "n3",
			Offset: time.Second, Error: "why", Keys: []history.KeyState{{Key: "k"}},
		}
		text := nemesisEntry(op, nil)
		whom := map[history.Subject]string{history.OfClient: "c1", history.OfNode: "n2"}[k.Of]
		if text == "" || strings.ContainsAny(text, "{}") || !strings.Contains(text, whom) {
			t.Errorf("%s of %q is told as %q", k.F, whom, text)
		}
		if step := (&teller{}).eventStep(op); strings.ContainsAny(step, "{}") {
			t.Errorf("the step of %s is %q", k.F, step)
		}
	}
}
