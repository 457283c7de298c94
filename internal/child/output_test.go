package child

import (
	"strings"
	"testing"
)

func TestHowComplaintsBeginAndEndIsKept(t *testing.T) {
	o := Output{Limit: 8}
	for _, test := range []struct {
		written []string
		want    string
		cut     bool
	}{
		{nil, "", false},
		{[]string{"begin"}, "begin", false},
		{[]string{"begin--", "--the end"}, "begin----the end", false},
		{[]string{"begin---", "---", strings.Repeat("middle", 10), "-the", " end"}, "begin---\n… 63 bytes are left out here …\n-the end", true},
		{[]string{"another"}, "another", false},
	} {
		o.Reset()
		for _, s := range test.written {
			if n, err := o.Write([]byte(s)); n != len(s) || err != nil {
				t.Fatal(n, err)
			}
		}
		if text, cut := o.Text(); text != test.want || cut != test.cut {
			t.Errorf("%q: %q, %v; want %q, %v", test.written, text, cut, test.want, test.cut)
		}
	}
}
