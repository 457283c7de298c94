package campaign

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/internal/input"
)

func TestChooseResolvesNamesGlobsAndAll(t *testing.T) {
	offered := []string{"getset", "redlock", "redlock-naive", "set-nx-ex", "set-nx-px"}
	tests := []struct {
		name   string
		choice []string
		want   []string
	}{
		{"all", []string{"all"}, offered},
		{"names come in the registry's order, once", []string{"set-nx-px", "getset", "set-nx-px"}, []string{"getset", "set-nx-px"}},
		{"glob", []string{"set-nx-?x"}, []string{"set-nx-ex", "set-nx-px"}},
		{"glob and name, with blanks", []string{" redlock*", " getset "}, []string{"getset", "redlock", "redlock-naive"}},
		{"empty elements are nothing", []string{"getset", ""}, []string{"getset"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Choose("lock", test.choice, offered)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("Choose(%q) = %q, %v; want %q", test.choice, got, err, test.want)
			}
		})
	}
}

func TestChooseOffersTheNearestNames(t *testing.T) {
	offered := []string{"getset", "redlock", "redlock-naive", "set-nx-ex", "set-nx-px"}
	tests := []struct {
		name   string
		choice []string
		want   string
	}{
		{"a slip", []string{"set-nxpx"}, `unknown lock "set-nxpx": did you mean set-nx-px or set-nx-ex`},
		{"a part", []string{"redloc"}, `did you mean redlock`},
		{"nothing alike still gets an offer", []string{"zzz"}, `did you mean `},
		{"a glob without a match", []string{"x*"}, `matches none of getset, redlock`},
		{"a broken glob", []string{"[a"}, `syntax error in pattern`},
		{"nothing", []string{"", " "}, `no lock chosen`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Choose("lock", test.choice, offered)
			var wrong *input.Error
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Choose(%q) = %q, %v; want an InputError with %q", test.choice, got, err, test.want)
			}
		})
	}
}
