package svg

import (
	"testing"
)

func TestSlimPagesShareStylesAndJoinStrokes(t *testing.T) {
	const page = `<style>p{}</style><p style="a:1"></p><svg x="10.25">
<path d="M1.06,2.00L3,4" style="fill:red" />
<path d="M5,6L10.0,8Z" style="fill:red" />
<path d="M9,9" style="fill:blue" />
<text y="0.04" style="fill:red">1.0050</text>
<path d="M7,7" style="fill:red" />
</svg><svg>
<path d="M1,1" style="fill:blue" />
</svg>`
	const want = `<style>p{}.i0{fill:red}
.i1{fill:blue}
</style><p style="a:1"></p><svg x="10.2">
<path d="M1,2L3,4M5,6L10,8Z" class="i0" />
<path d="M9,9" class="i1" />
<text y="0" class="i0">1.0050</text>
<path d="M7,7" class="i0" />
</svg><svg>
<path d="M1,1" class="i1" />
</svg>`
	if got := string(Compact([]byte(page))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
