package input

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestErrorsSpeakOfSettingsAndProgramsOfFlags(t *testing.T) {
	inner := Errorf("%s %v: expected a longer %s", Setting("hold"), 5, Setting("ttl"))
	for _, c := range []struct {
		err           error
		text, flagged string
	}{
		{inner, "hold 5: expected a longer ttl", "--hold 5: expected a longer --ttl"},
		{fmt.Errorf("plan: %w", inner), "plan: hold 5: expected a longer ttl", "plan: --hold 5: expected a longer --ttl"},
		{errors.Join(fs.ErrExist, inner), "file already exists\nhold 5: expected a longer ttl", "file already exists\n--hold 5: expected a longer --ttl"},
		{Errorf("%s a: %w", Setting("store"), fs.ErrExist), "store a: file already exists", "--store a: file already exists"},
		{Errorf("%s: %w", Setting("confirm"), inner), "confirm: hold 5: expected a longer ttl", "--confirm: --hold 5: expected a longer --ttl"},
		{Errorf("no lock %q", "x"), `no lock "x"`, `no lock "x"`},
	} {
		if c.err.Error() != c.text || Flagged(c.err) != c.flagged {
			t.Errorf("%q, for a program %q; want %q and %q", c.err, Flagged(c.err), c.text, c.flagged)
		}
	}
	if err := Errorf("%s a: %w", Setting("store"), fs.ErrExist); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v does not wrap %v", err, fs.ErrExist)
	}
}
