package testbed

import (
	"errors"
	"testing"
)

func TestTwoErrorsAreToldOnOneLine(t *testing.T) {
	here, there := errors.New("here"), errors.New("there")
	for _, test := range []struct {
		a, b error
		want string
	}{
		{nil, nil, ""},
		{here, nil, "here"},
		{nil, there, "there"},
		{here, there, "here; there"},
		{here, &TeardownError{errors.Join(here, there)}, "here; tear down: here; there"},
	} {
		got := JoinErrors(test.a, test.b)
		if test.a != nil && !errors.Is(got, test.a) || test.b != nil && !errors.Is(got, test.b) {
			t.Errorf("got %v, want %v and %v", got, test.a, test.b)
		}
		if got != nil && got.Error() != test.want || got == nil && test.want != "" {
			t.Errorf("got %v, want %q", got, test.want)
		}
	}
}
