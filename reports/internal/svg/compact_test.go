package svg

import "testing"

func TestCompactPicturesShareStylesAndJoinStrokes(t *testing.T) {
	const first = `<svg x="10.25">
<path d="M1.06,2.00L3,4" style="fill:red" />
<path d="M5,6L10.0,8Z" style="fill:red" />
<path d="M9,9" style="fill:blue" />
<text y="0.04" style="fill:red">1.0050</text>
<path d="M7,7" style="fill:red" />
</svg>`
	const second = `<svg>
<path d="M1,1" style="fill:blue" />
</svg>`
	const want = `<svg x="10.2">
<path d="m1,2l2,2m2,2l5,2z" class="i0" />
<path d="m9,9" class="i1" />
<text y="0" class="i0">1.0050</text>
<path d="m7,7" class="i0" />
</svg><svg>
<path d="m1,1" class="i1" />
</svg>`
	var s Sheet
	if got := string(s.Compact([]byte(first))) + string(s.Compact([]byte(second))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := s.Rules(), ".i0{fill:red}\n.i1{fill:blue}\n"; got != want {
		t.Errorf("got rules %q, want %q", got, want)
	}
}

func TestRelativePathsLeadToTheSamePoints(t *testing.T) {
	for _, test := range []struct{ path, want string }{
		{"M1,2L4,2L4,7.5L1,7.5Z", "m1,2h3v5.5h-3z"},
		{"M1,2L4,2ZM2,2L2.5,1.5", "m1,2h3zm1,0l.5,-.5"}, // Z returns to the path's start
		{"M5.2,1A2.6,2.6 0 1 1 0,1A2.6,2.6 0 1 1 5.2,1Z", "m5.2,1a2.6 2.6 0 1 1 -5.2,0a2.6 2.6 0 1 1 5.2,0z"},
		{"M1,1C2,2 3,3 4,4", "M1,1C2,2 3,3 4,4"}, // gonum never writes this command
		{"m1,1l2,2", "m1,1l2,2"},
	} {
		if got := relative(test.path); got != test.want {
			t.Errorf("%s: got %s, want %s", test.path, got, test.want)
		}
	}
}
