package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/lockstorm/lockstorm/campaign"
)

// plainEvery is how often a line is printed where there is no terminal.
const plainEvery = 15 * time.Second

// progress shows how far a campaign is: a bar on a terminal, else a plain line at
// intervals.
type progress struct {
	w       io.Writer
	bar     *progressbar.ProgressBar
	started time.Time
	last    time.Time
	words   func(campaign.Progress) string // beside the trial counts
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, started: time.Now(), last: time.Now()}
	p.words = p.text
	if terminal(w) {
		p.bar = progressbar.NewOptions(1,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription("trials"),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(false), // the bar's own estimate ignores that trials overlap
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond),
		)
	}
	return p
}

// show displays the state after a trial; calls come one at a time.
func (p *progress) show(s campaign.Progress) {
	if p.bar != nil {
		p.bar.ChangeMax(s.Total)
		p.bar.Describe(p.words(s))
		_ = p.bar.Set(s.Done) // a bar that cannot be drawn is no reason to stop
		return
	}
	if now := time.Now(); now.Sub(p.last) >= plainEvery {
		p.last = now
		fmt.Fprintf(p.w, "%d of %d trials: %s\n", s.Done, s.Total, p.words(s))
	}
}

func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// text returns the text beside the trial counts of a campaign.
func (p *progress) text(s campaign.Progress) string {
	if s.ToShrink > 0 {
		return fmt.Sprintf("%d with violations, of the %d to be shown %d are shrunk", s.Violations, s.ToShrink, s.Shrunk)
	}
	text := fmt.Sprintf("%d with violations", s.Violations)
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	if left := p.left(s); left > 0 {
		text += fmt.Sprintf(", %v left", left)
	}
	return text
}

// left estimates the remaining time from the average so far.
func (p *progress) left(s campaign.Progress) time.Duration {
	if s.Done == 0 {
		return 0
	}
	each := time.Since(p.started) / time.Duration(s.Done)
	return (each * time.Duration(s.Total-s.Done)).Round(time.Second)
}
