package foreign

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/locks"
)

func TestLinesOfAClientAreReadOrItIsSaidWhatIsWrong(t *testing.T) {
	for line, want := range map[string]struct {
		ready bool
		lost  int64
		is    error // of the answer
		err   string
	}{
		`{"ready":true,"extend":true,"until":true}`: {ready: true},
		`{"id":1,"token":"a","until":998}`:          {},
		`{"id":1,"error":"busy"}`:                   {is: locks.ErrBusy},
		`{"id":1,"error":"refused"}`:                {is: locks.ErrRefused},
		`{"id":1,"error":"not-held"}`:               {is: locks.ErrNotHeld},
		`{"lost":7}`:                                {lost: 7},
		`{"id":1,"until":true}`:                     {err: "until"},
		`{"ready":false}`:                           {err: "expected ready, id or lost"},
		`{}`:                                        {err: "expected ready, id or lost"},
		`null`:                                      {err: "one JSON object"},
		`Warning: x`:                                {err: "one JSON object"},
		``:                                          {err: "one JSON object"},
	} {
		m, err := parse([]byte(line), false)
		if (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: got %v, want %q", line, err, want.err)
			continue
		}
		if (m.ready != nil) != want.ready || m.lost != want.lost || !errors.Is(m.answer.outcome(), want.is) {
			t.Errorf("%s: got %+v, %v", line, m, m.answer.outcome())
		}
	}
}

// Only three words are certain: whatever else a lock says leaves the outcome unknown.
func FuzzAnyOtherErrorIsUnknown(f *testing.F) {
	f.Add("busy.")
	f.Add("Busy")
	f.Fuzz(func(t *testing.T, text string) {
		err := answer{Error: text}.outcome()
		certain := errors.Is(err, locks.ErrBusy) || errors.Is(err, locks.ErrRefused) || errors.Is(err, locks.ErrNotHeld)
		if word := text == "busy" || text == "refused" || text == "not-held"; certain != word || (err == nil) != (text == "") {
			t.Errorf("%q: got %v", text, err)
		}
	})
}

func FuzzParseNeverFailsSilently(f *testing.F) {
	f.Add([]byte(`{"id":1}`))
	f.Add([]byte(`{"ready":true,"ready":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if m, err := parse(line, true); err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("%q: an error of several lines: %v", line, err)
		} else if err != nil && (m.ready != nil || m.lost != 0) {
			t.Errorf("%q: got %+v with the error %v", line, m, err)
		}
	})
}
