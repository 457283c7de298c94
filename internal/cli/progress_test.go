package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
)

func TestProgressWithoutATerminalIsAPlainLineNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out)
		for done := 1; done <= 4; done++ {
			time.Sleep(10 * time.Second)
			p.show(campaign.Progress{Done: done, Total: 10, Violations: done / 2, Failed: done / 4})
		}
		p.end()
		want := "2 of 10 trials: 1 with violations, 1m20s left\n4 of 10 trials: 2 with violations, 1 failed, 1m0s left\n"
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	})
}
